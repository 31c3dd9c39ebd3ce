"""Names, clashes and unknown names."""

from __future__ import annotations

import pytest

from leftoff.errors import UnknownName, UsageError
from leftoff.registry import Registry


def test_built_in_names_are_known_without_importing() -> None:
    registry: Registry[object] = Registry("thing", {"lazy": "no.such.module:THING"})
    assert registry.names() == ["lazy"]
    assert "lazy" in registry
    with pytest.raises(ModuleNotFoundError):
        registry.get("lazy")


def test_a_decorated_thing_answers_to_its_name() -> None:
    registry: Registry[object] = Registry("thing")
    made = registry.register("mine")(object())
    assert registry.get("mine") is made


def test_a_clash_names_both_owners() -> None:
    registry: Registry[object] = Registry("thing", {"taken": "leftoff.model:Ref"})

    class Other:
        pass

    with pytest.raises(UsageError, match=r"'taken'.*leftoff.*test_registry"):
        registry.register("taken")(Other)


def test_an_unknown_name_suggests_the_nearest() -> None:
    registry: Registry[object] = Registry("gadget", {"codex": "leftoff.model:Ref"})
    with pytest.raises(UnknownName, match="did you mean 'codex'"):
        registry.get("codecs")
    with pytest.raises(UnknownName, match="known: codex"):
        registry.get("zzz")
