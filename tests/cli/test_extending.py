"""`plugins`, `schema` and `completion`."""

import json
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


def test_the_summarys_schema_names_every_key(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from leftoff import api
    from leftoff.analysis.summary_json import to_json

    assert group.main(["schema", "summary"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["title"] == "leftoff.summary/1"
    value = json.loads(to_json(api.summarize(str(session))))
    checked = _unlike(value, {"$ref": made["$ref"]}, made["$defs"], "summary")
    assert checked == []


def _unlike(value: Any, schema: dict[str, Any], known: dict[str, Any], where: str) -> list[str]:
    """Where a value does not fit a schema: types, keys and alternatives; no more is needed."""
    if "$ref" in schema:
        return _unlike(value, known[schema["$ref"].rpartition("/")[2]], known, where)
    if "anyOf" in schema:
        tries = [_unlike(value, option, known, where) for option in schema["anyOf"]]
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
