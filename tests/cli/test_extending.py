"""`plugins`, `schema` and `completion`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leftoff.cli import group
from leftoff.formats.reader import formats


def test_every_format_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert group.main(["plugins", "format", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["name"] for row in rows] == formats.names()


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> Callable[[str], dict[str, Any]]:
    def made(document: str) -> dict[str, Any]:
        assert group.main(["schema", document]) == 0
        value: dict[str, Any] = json.loads(capsys.readouterr().out)
        return value

    return made


def test_the_summarys_schema_names_every_key(
    schema: Callable[[str], dict[str, Any]], session: Path
) -> None:
    from leftoff import api
    from leftoff.analysis.summary_json import to_json

    made = schema("summary")
    assert made["title"] == "leftoff.summary/1"
    value = json.loads(to_json(api.summarize(str(session))))
    checked = _unlike(value, {"$ref": made["$ref"]}, made["$defs"], "summary")
    assert checked == []


def test_the_sessions_schema_fits_what_convert_writes(
    schema: Callable[[str], dict[str, Any]], session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = schema("session")
    assert group.main(["convert", str(session), "--to", "leftoff"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert _unlike(json.loads(line), {"$ref": made["$ref"]}, made["$defs"], "line") == []


def _unlike(value: Any, schema: dict[str, Any], known: dict[str, Any], where: str) -> list[str]:
    """Where a value does not fit a schema: types, keys and alternatives; no more is needed."""
    if "$ref" in schema:
        return _unlike(value, known[schema["$ref"].rpartition("/")[2]], known, where)
    for name in ("anyOf", "oneOf"):
        if name in schema:
            tries = [_unlike(value, option, known, where) for option in schema[name]]
            return [] if any(not found for found in tries) else min(tries, key=len)
    kinds: dict[Any, type] = {
        "object": dict, "array": list, "string": str, "null": type(None), "boolean": bool,
    }  # fmt: skip
    kind = schema.get("type")
    if isinstance(kind, list):
        tries = [_unlike(value, {**schema, "type": one}, known, where) for one in kind]
        return [] if any(not found for found in tries) else min(tries, key=len)
    if kind in {"integer", "number"}:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return [] if fits else [f"{where}: {value!r} is no {kind}"]
    if kind in kinds and not isinstance(value, kinds[kind]):
        return [f"{where}: {value!r} is no {kind}"]
    found: list[str] = []
    if kind == "array":
        for number, item in enumerate(value):
            found += _unlike(item, schema.get("items", {}), known, f"{where}[{number}]")
    if kind == "object" and "properties" in schema:
        found += [f"{where}: no {n}" for n in schema.get("required", ()) if n not in value]
        for key, item in value.items():
            if key in schema["properties"]:
                found += _unlike(item, schema["properties"][key], known, f"{where}.{key}")
            else:
                found.append(f"{where}: {key} is not in the schema")
    return found


def test_the_schemas_test_can_fail() -> None:
    class Thing(msgspec.Struct):
        name: str
        counts: list[int] = []

    made = msgspec.json.schema(Thing)
    assert _unlike({"name": "x", "counts": [1]}, made, made["$defs"], "t") == []
    assert _unlike({"name": 1, "counts": ["x"], "odd": 1}, made, made["$defs"], "t") != []
