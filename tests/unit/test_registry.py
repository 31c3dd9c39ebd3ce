"""Names, clashes and unknown names."""

import pytest

from leftoff.errors import UsageError
from leftoff.registry import Registry


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
