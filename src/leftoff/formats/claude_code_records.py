"""The records of Claude Code as typed values; what is not read is left out of them."""

from msgspec import Struct


class Piece(Struct, gc=False):
    """A piece of a result's content, or all of it: iFlow's, and of what the API has run."""

    text: str | None = None
    title: str | None = None
    url: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    return_code: int | None = None
    error_code: str | None = None
    responseParts: object = None


class Origin(Struct, gc=False):
    """Who wrote a prompt, as newer versions say."""

    kind: str = "human"


class Block(Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    server_name: str | None = None
    input: object = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: str | list[Piece] | Piece | None = None


class Tokens(Struct, gc=False):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0


class Body(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str | list[Block] | None = None
    usage: Tokens | None = None
    stop_reason: object = None


class Result(Struct, gc=False):
    """The structured copy of a tool's result, with facts that the text lacks."""

    type: object = None
    agentId: object = None
    interrupted: object = None
    backgroundTaskId: object = None
    answers: object = None
    isAsync: object = None
    # iFlow's
    status: object = None
    toolName: object = None


class Attachment(Struct, gc=False):
    type: str = ""
    prompt: object = None
    origin: Origin | None = None


class Progress(Struct, gc=False):
    type: str = ""
    agentId: str | None = None
    message: "Line | None" = None


class Compaction(Struct, gc=False):
    trigger: str | None = None
    preTokens: int | None = None
    pre_tokens: int | None = None


class Backup(Struct, gc=False):
    version: int | None = None
    backupFileName: str | None = None


class Snapshot(Struct, gc=False):
    trackedFileBackups: dict[str, Backup] = {}


class Line(Struct, gc=False):
    type: str = ""
    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    message: Body | None = None
    isMeta: bool | None = None
    origin: Origin | None = None
    isSidechain: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    agentId: str | None = None
    requestId: str | None = None
    subtype: str | None = None
    operation: str | None = None
    content: str | None = None
    toolUseResult: Result | str | list[object] | None = None
    data: Progress | None = None
    attachment: Attachment | None = None
    compactMetadata: Compaction | None = None
    summary: str | None = None
    leafUuid: str | None = None
    aiTitle: str | None = None
    customTitle: str | None = None
    snapshot: Snapshot | None = None
    # stream-json and the Agent SDK write these instead of their twins above
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Result | str | list[object] | None = None
    compact_metadata: Compaction | None = None
    claude_code_version: str | None = None
    isSynthetic: bool | None = None
    is_error: bool | None = None
    result: str | None = None
