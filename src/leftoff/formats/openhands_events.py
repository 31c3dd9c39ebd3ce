"""The events of OpenHands: their fields and kinds, and how one is recognised.

Two generations: actions and observations with a name, and the events of the agent SDK (version
1), which name their kind: docs/formats/openhands.md."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from leftoff.formats.vocabulary import KINDS


class Event(Struct, gc=False):
    id: object = None
    timestamp: object = None
    source: object = None
    message: object = None
    action: object = None
    args: object = None
    observation: object = None
    content: object = None
    extras: object = None
    cause: object = None
    tool_call_metadata: object = None
    llm_metrics: object = None
    # the oldest events have their arguments beside `action`
    thought: object = None
    exit_code: object = None
    # events of the agent SDK, from version 1
    kind: object = None
    llm_message: object = None
    llm_response_id: object = None
    extended_content: object = None
    system_prompt: object = None
    tool_name: object = None
    tool_call_id: object = None
    tool_call: object = None
    reasoning_content: object = None
    thinking_blocks: object = None
    error: object = None
    rejection_reason: object = None
    detail: object = None


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


def is_instance(item: dict[str, Any]) -> bool:
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
