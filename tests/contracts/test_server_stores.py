"""Redis and S3-compatible stores keep the promises of a store, tried on real servers on this
machine. `.ci/extras.d/20-stores.sh` installs them; elsewhere these tests skip."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff.errors import StateError
from leftoff.stores.naming import LOCATIONS, file_stem
from leftoff.stores.protocol import open_store
from leftoff.testing import check_store

# Other people's packages may warn about each other.
pytestmark = pytest.mark.filterwarnings("default")


def missing(what: str) -> None:
    if os.environ.get("LEFTOFF_SERVERS"):
        pytest.fail(f"{what}, and LEFTOFF_SERVERS says that nothing is missing")
    pytest.skip(what)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def started(command: list[str], port: int, folder: Path) -> subprocess.Popen[bytes]:
    """A server of our own that answers on a port."""
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    for _ in range(300):
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return server
    stopped(server)
    pytest.fail(f"{command[0]} does not answer: {(folder / 'server.log').read_text()[-2000:]}")


def stopped(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        missing("redis-server is not installed")
    if importlib.util.find_spec("redis") is None:
        missing("the package redis is not installed")
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    command = [str(program), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    server = started([*command, "--appendonly", "no", "--dir", str(folder)], port, folder)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        stopped(server)


@pytest.fixture(scope="module")
def s3_options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    # What moto needs and what s3fs needs may not fit together: it may have its own Python.
    python = os.environ.get("LEFTOFF_MOTO", sys.executable)
    for package in ("s3fs", *(("moto", "flask") if python == sys.executable else ())):
        if importlib.util.find_spec(package) is None:
            missing(f"the package {package} is not installed")
    folder, port = tmp_path_factory.mktemp("s3"), free_port()
    command = [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = started(command, port, folder)
    options: dict[str, Any] = {
        "endpoint_url": f"http://127.0.0.1:{port}",
        "key": "testing",
        "secret": "testing",
    }
    try:
        yield options
    finally:
        stopped(server)


def test_redis(redis_url: str) -> None:
    import redis

    server: Any = redis.Redis.from_url(redis_url)
    prefix = f"t{uuid.uuid4().hex}"

    def tamper(kind: str, id: str, change: Callable[[bytes], bytes]) -> None:
        key = f"{prefix}:document:{kind}:{id}"
        server.hset(key, "document", change(server.hget(key, "document")))

    check_store(lambda: open_store(redis_url, prefix=prefix), tamper=tamper)
    assert server.keys(f"{prefix}:*") == [], "what was deleted left something"
    server.close()


def test_a_redis_that_is_away_is_said_without_its_password() -> None:
    pytest.importorskip("redis", reason="the package redis is not installed")
    store = open_store(f"redis://user:hunter2hunter2@127.0.0.1:{free_port()}/0", timeout=1.0)
    with pytest.raises(StateError) as told:
        store.load("task", "t")
    assert "127.0.0.1" in str(told.value)
    assert "hunter2" not in str(told.value)


def test_s3(s3_options: dict[str, Any]) -> None:
    import s3fs

    bucket = f"b{uuid.uuid4().hex}"
    system = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True, **s3_options)
    system.mkdir(bucket)

    def tamper(kind: str, id: str, change: Callable[[bytes], bytes]) -> None:
        path = f"{bucket}/agents/{LOCATIONS[kind].folder}/{file_stem(kind, id)}.json"
        system.pipe_file(path, change(system.cat_file(path)))

    check_store(lambda: open_store(f"s3://{bucket}/agents", **s3_options), tamper=tamper)
    assert system.find(bucket) == [], "what was deleted left something"


def test_a_bucket_that_is_not_there_is_said(s3_options: dict[str, Any]) -> None:
    store = open_store(f"s3://no-such-{uuid.uuid4().hex}", **s3_options)
    with pytest.raises(StateError, match="object store failed"):
        store.save("task", "t", {})
