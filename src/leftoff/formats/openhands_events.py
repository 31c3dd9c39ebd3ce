"""The events of OpenHands: their kinds, and how one is recognised.

Two generations: actions and observations with a name, and the events of the agent SDK (version
1), which name their kind: docs/formats/openhands.md."""

from __future__ import annotations

from leftoff.formats.vocabulary import KINDS

IGNORED_ACTIONS = KINDS["openhands_ignored_actions"]
IGNORED_OBSERVATIONS = frozenset({"agent_state_changed", "null", "success", "loop_detection"})
CALLS = KINDS["openhands_calls"]
RESULTS = KINDS["openhands_results"]
# Events of the agent SDK that carry nothing of the conversation, or what another one does.
IGNORED_KINDS = KINDS["openhands_ignored_kinds"]
SDK_KINDS = KINDS["openhands_sdk_kinds"]


def is_sdk_event(item: object) -> bool:
    """Whether this is an event of the agent SDK: a kind, who caused it, and its content."""
    if not isinstance(item, dict) or item.get("source") not in ("user", "agent", "environment"):
        return False
    kind = item.get("kind")
    return isinstance(kind, str) and (kind in SDK_KINDS or kind in IGNORED_KINDS)


def is_event(item: object) -> bool:
    """Whether this is an event of either generation."""
    if is_sdk_event(item):
        return True
    if not isinstance(item, dict) or not ("action" in item or "observation" in item):
        return False
    return "source" in item or "args" in item or "extras" in item or "cause" in item


def is_instance(item: dict[str, object]) -> bool:
    """Whether this is an instance of an evaluation output, with a history of events."""
    history = item.get("history")
    if not isinstance(history, list):
        return False
    if "instance_id" not in item and "issue" not in item and "git_patch" not in item:
        return False
    if "test_result" in item or "git_patch" in item:
        return True
    return any(
        isinstance(e, dict) and ("action" in e or "observation" in e or is_sdk_event(e))
        for e in history
    )
