"""All settings as one frozen value, with the source of each.

Precedence: command line, environment (`LEFTOFF_…`), project, user, default. A project's
settings are in `leftoff.toml`, in `[tool.leftoff]` of `pyproject.toml`, or in the
`context_management` tree of `.claude-mpm/configuration.yaml`; a user's in `leftoff.toml` of
the configuration folder.
`budget_total`, `budgetTotal` and `BUDGET_TOTAL` are the same key everywhere."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field

from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import Preset, Threshold, preset
from leftoff.budget.windows import PROVIDER_LIMITS, ModelRow
from leftoff.codec import JsonObject
from leftoff.errors import SourceError, UsageError, nearest, squashed

Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Positive: TypeAlias = Annotated[int, Meta(ge=1)]
Trigger: TypeAlias = Literal[
    "model_context_window_exceeded",
    "max_tokens",
    "manual_pause",
    "threshold_critical",
    "threshold_warning",
]


class ContextThresholds(Struct, frozen=True):
    """Shares of the budget at which the preset `advisory` warns."""

    caution: Share = 0.70
    warning: Share = 0.85
    critical: Share = 0.95


class Cleanup(Struct, frozen=True):
    """How many resume logs are retained."""

    enabled: bool = True
    keep_count: Count = 10
    auto_cleanup: bool = True


class ResumeLogs(Struct, frozen=True):
    """Resume logs: whether, when, where and how large."""

    enabled: bool = True
    auto_generate: bool = True
    max_tokens: Positive = 10_000
    storage_dir: str = "{home}/resume-logs"
    format: Literal["markdown", "json"] = "markdown"
    triggers: tuple[Trigger, ...] = get_args(Trigger)
    cleanup: Cleanup = Cleanup()


class ContextManagement(Struct, frozen=True):
    """A live session's budget."""

    enabled: bool = True
    budget_total: Positive = 200_000
    thresholds: ContextThresholds = ContextThresholds()
    resume_logs: ResumeLogs = ResumeLogs()


class BudgetThresholds(Struct, frozen=True):
    """Shares of a task's budget at which the preset `handoff` acts."""

    warning: Share = 0.80
    checkpoint_90: Share = 0.90
    checkpoint_95: Share = 0.95
    checkpoint_98: Share = 0.98


class ContextDump(Struct, frozen=True):
    """What a checkpoint writes and how long it is retained."""

    enabled: bool = True
    markdown_update: bool = True
    checkpoint_dir: str = "{home}/context-checkpoints"
    max_history_lines: Count = 500
    compression: Literal["gzip", "none"] = "gzip"
    retention_days: Count = 7


class HandoffSettings(Struct, frozen=True):
    """How a task goes to another agent."""

    enabled: bool = True
    force_at_98_percent: bool = True
    fallback_provider_selection: Literal["by_role_priority"] = "by_role_priority"
    timeout_ms: Count = 30_000


class BudgetLogging(Struct, frozen=True):
    """Which telemetry records are logged."""

    verbose: bool = False
    log_thresholds: bool = True
    log_handoffs: bool = True


class TokenBudget(Struct, frozen=True):
    """Budgets of tasks and providers."""

    enabled: bool = True
    provider_limits: dict[str, Positive] = field(default_factory=lambda: dict(PROVIDER_LIMITS))
    thresholds: BudgetThresholds = BudgetThresholds()
    context_dump: ContextDump = ContextDump()
    handoff: HandoffSettings = HandoffSettings()
    logging: BudgetLogging = BudgetLogging()


class Resume(Struct, frozen=True):
    """Resume states of workflows.

    Attributes:
        similarity_warning, similarity_reset: below these similarities the workflow's content
            has changed significantly, and resetting is advised.
        minimum_score: below this score nothing is resumed.
        missing_tool_factor: what the score is multiplied with where a used tool is missing."""

    storage_location: str = "{home}/resume"
    retention_days: Count = 7
    enable_compression: bool = False
    max_file_size_bytes: Positive = 1024 * 1024
    checkpoint_frequency: Positive = 1
    enable_atomic_writes: bool = True
    enable_backup: bool = True
    similarity_warning: Share = 0.8
    similarity_reset: Share = 0.5
    minimum_score: Share = 0.6
    missing_tool_factor: Share = 0.7


class Hooks(Struct, frozen=True):
    """What the hooks of a client do.

    Attributes:
        recall: give the agent what earlier work says about a prompt, where it fits well.
        recall_tokens: tokens of that at most, an upper bound.
        memory: keep the user's index of all sessions up to date, give a session what the person
            required in earlier ones, and search the index where nothing else fits a prompt.
        reader: a second reader that the worker asks when a session was compacted or has ended:
            a name or a command line. Never taken from a project's files, which may come from
            others."""

    recall: bool = True
    recall_tokens: Positive = 1_300
    memory: bool = True
    reader: str = ""


class Settings(Struct, frozen=True):
    """Everything that can be set. Paths may begin with `{home}`: see `place`.

    Attributes:
        home: the folder of everything that leftoff writes, relative to the project.
        preset: which thresholds are watched; `own` are those of `thresholds`.
        windows: rows that come before the built-in table of models.
        prices: rows that come before the built-in table of prices.
        extractors, redactors: plug-ins to run, by name.
        enable_resume: whether a review may continue an earlier conversation."""

    home: str = ".leftoff"
    preset: Literal["advisory", "handoff", "own"] = "advisory"
    thresholds: tuple[Threshold, ...] = ()
    windows: tuple[ModelRow, ...] = ()
    prices: tuple[PriceRow, ...] = ()
    extractors: tuple[str, ...] = ()
    redactors: tuple[str, ...] = ()
    enable_resume: bool = True
    context_management: ContextManagement = ContextManagement()
    token_budget: TokenBudget = TokenBudget()
    resume: Resume = Resume()
    hooks: Hooks = Hooks()

    def place(self, path: str) -> str:
        """A path of a setting with the home folder filled in."""
        return path.replace("{home}", self.home.rstrip("/") or "/")

    def watched(self) -> Preset:
        """The thresholds of the chosen preset, at the shares that are set; `UsageError` where
        the preset is `own` and there are none."""
        if self.preset == "own":
            if not self.thresholds:
                raise UsageError('preset = "own" needs [[thresholds]] with name and at')
            ordered = sorted(self.thresholds, key=lambda t: t.at)
            return Preset("own", tuple(ordered))
        return self.preset_of(self.preset)

    def preset_of(self, name: str) -> Preset:
        """A built-in preset at the shares that are set."""
        own = self.context_management if name == "advisory" else self.token_budget
        return preset(name).at(msgspec.structs.asdict(own.thresholds))


class LoadedSettings(Struct, frozen=True):
    """Settings with where each value comes from."""

    settings: Settings
    # Path such as "context_management.budget_total" to "default", a file's name, "environment
    # LEFTOFF_…" or "option --…".
    origins: dict[str, str]
    notices: tuple[str, ...] = ()  # what was accepted and has no effect

    def values(self) -> JsonObject:
        """Every setting by its path, as plain values, home filled in."""
        found: JsonObject = {}
        for path, _ in setting_types():
            value = _value_at(self.settings, path)
            plain = msgspec.to_builtins(value)
            if isinstance(plain, str):
                plain = self.settings.place(plain)
            found[path] = list(plain) if isinstance(plain, tuple) else plain
        return found


# Names that the original designs give to a section.
_ALIASES = {"tokenbudgetconfig": "token_budget"}
# Settings that run a program: a project's files cannot set them.
_OWN = {"hooks.reader"}
# Settings whose value False is accepted and has no effect.
_IGNORED = {"resume.enable_atomic_writes"}
ENVIRONMENT = "LEFTOFF_"
TOML = "leftoff.toml"
YAML = ".claude-mpm/configuration.yaml"


def setting_types(
    type_: type[Struct] = Settings, before: str = ""
) -> Iterator[tuple[str, object]]:
    """Every setting as (path, type)."""
    for known in msgspec.structs.fields(type_):
        path = f"{before}{known.name}"
        if isinstance(known.type, type) and issubclass(known.type, Struct):
            yield from setting_types(known.type, f"{path}.")
        else:
            yield path, known.type


# -- loading ---------------------------------------------------------------------------------


class _Collected:
    def __init__(self) -> None:
        self.values: JsonObject = {}
        self.origins: dict[str, str] = {}
        self.notices: list[str] = []
        self.types = dict(setting_types())

    def put(self, path: str, value: object, origin: str, where: str) -> None:
        type_ = self.types[path]
        try:
            converted = msgspec.convert(value, type_)
        except msgspec.ValidationError as error:
            hint = nearest_valid(type_, value, _value_at(Settings(), path))
            raise UsageError(f"{where}: {error}; the nearest valid value is {hint}") from None
        # A table of limits adds to the known ones; otherwise one row would lose all others.
        if get_origin(type_) is dict:
            known = self.values.get(path, _value_at(Settings(), path))
            converted = {**known, **converted}
        if path in _IGNORED and converted is False:
            self.notices.append(f"{where}: has no effect, writes are always atomic")
        self.values[path], self.origins[path] = converted, origin

    def tree(
        self, tree: object, type_: type[Struct], before: str, origin: str, *, own: bool = True
    ) -> None:
        """Takes in a tree of a settings file, of the user's `own` or of a project; `UsageError`
        for a key that does not exist, or a value that is not valid."""
        if not isinstance(tree, Mapping):
            raise UsageError(f"{origin}: {before.rstrip('.') or 'the file'} must be a table")
        # TOML, YAML and environments have different customs for names.
        known = {squashed(f.name): f for f in msgspec.structs.fields(type_)}
        for key, value in tree.items():
            name = squashed(str(key))
            found = known.get(squashed(_ALIASES.get(name, name)))
            if found is None:
                raise unknown_setting(f"{before}{key}", origin)
            path = f"{before}{found.name}"
            if isinstance(found.type, type) and issubclass(found.type, Struct):
                self.tree(value, found.type, f"{path}.", origin, own=own)
            elif path in _OWN and not own:
                what = "has no effect in a project: set it in your own leftoff.toml"
                self.notices.append(f"{origin}: {path}: {what}")
            else:
                self.put(path, value, origin, f"{origin}: {path}")

    def done(self) -> LoadedSettings:
        tree: JsonObject = {}
        for path, value in self.values.items():
            place = tree
            *sections, name = path.split(".")
            for section in sections:
                place = place.setdefault(section, {})
            place[name] = msgspec.to_builtins(value)
        origins = {path: self.origins.get(path, "default") for path in self.types}
        settings = msgspec.convert(tree, Settings)
        names = [t.name for t in settings.thresholds]
        if len(set(names)) < len(names):
            raise UsageError("thresholds: two of them have the same name")
        return LoadedSettings(settings, origins, tuple(self.notices))


def _value_at(value: object, path: str) -> object:
    for name in path.split("."):
        value = getattr(value, name)
    return value


def unknown_setting(path: str, origin: str) -> UsageError:
    """The error for a setting that does not exist; names the nearest one."""
    known = [p for p, _ in setting_types()]
    known += sorted({p[:i] for p in known for i, c in enumerate(p) if c == "."})
    section, _, name = path.rpartition(".")
    # A name without a section is compared with the names of all sections.
    beside = [p for p in known if not section or p.rpartition(".")[0] == section]
    near = _nearest_word(name, {p.rpartition(".")[2]: p for p in reversed(beside)}) or nearest(
        path, known
    )
    hint = f"; the nearest valid one is {near!r}" if near else ""
    return UsageError(f"{origin}: there is no setting {path!r}{hint}")


def nearest_valid(type_: object, value: object, default: Any) -> str:
    """The valid value that is most like a wrong one, as it would be written."""
    kind = get_origin(type_)
    inner = get_args(type_)[0] if kind is tuple else None
    if get_origin(inner) is Literal and isinstance(value, (list, tuple)):
        fixed = [_nearest_word(v, get_args(inner)) for v in value]
        return repr([v for v in fixed if v is not None] or list(default))
    if kind is Literal:
        return repr(_nearest_word(value, get_args(type_)) or default)
    if kind is Annotated and isinstance(value, (int, float)):
        limits: Meta = get_args(type_)[1]
        if limits.le is not None and value > limits.le:
            return repr(limits.le)
        return repr(limits.ge if limits.ge is not None and value < limits.ge else default)
    return repr(msgspec.to_builtins(default))


def _nearest_word(value: object, known: Mapping[str, str] | Sequence[str]) -> str | None:
    """Of known words the one most like a value, or what it stands for."""
    meant = known if isinstance(known, Mapping) else dict(zip(known, known, strict=True))
    folded = {squashed(word): one for word, one in meant.items()}
    near = nearest(squashed(str(value)), folded)
    return None if near is None else folded[near]


def _read(path: Path) -> Any:
    try:
        text = _text(path, "strict")
    # Most projects have no settings.
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: cannot be read ({error})") from error
    if path.suffix == ".toml":
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path}: no TOML: {error}") from error
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: no YAML: {' '.join(str(error).split())}") from error


def _text(path: Path, errors: str) -> str:
    """What a file holds. A pipe or a device, which a folder may come with, has no end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SourceError(f"{path}: is no regular file")
    return path.read_text("utf-8", errors)


def _project(folder: Path) -> list[tuple[str, object]]:
    """The settings of a folder as (file, tree), weakest first; [] if it has none."""
    found: list[tuple[str, object]] = []
    tree = _read(folder / YAML)
    # That file is another program's: only this part of it is about us.
    part = tree.get("context_management") if isinstance(tree, Mapping) else None
    if part is not None:
        found.append((str(folder / YAML), {"context_management": part}))
    file, ours = folder / "pyproject.toml", False
    with suppress(OSError):
        ours = "[tool.leftoff" in _text(file, "replace")
    if ours:
        found.append((f"{file} [tool.leftoff]", _read(file)["tool"]["leftoff"]))
    tree = _read(folder / TOML)
    if tree:
        found.append((str(folder / TOML), tree))
    return found


def from_mapping(tree: Mapping[str, object], origin: str = "configuration") -> LoadedSettings:
    """Settings from a dict in the shape of a settings file; the rest are defaults. `UsageError`
    where a key does not exist or a value is not valid."""
    collected = _Collected()
    collected.tree(tree, Settings, "", origin)
    return collected.done()


def load(
    *,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    project: str | os.PathLike[str] | None = None,
    user: str | os.PathLike[str] | None = None,
) -> LoadedSettings:
    """The effective settings, each with its origin. Reads only the given sources.

    Args:
        flags: settings from the command line, by path or name of the option.
        environ: the environment.
        project: a folder; the nearest settings at or above it count.
        user: the user's configuration folder.

    Raises:
        UsageError: a setting that does not exist or a value that is not valid; names the file
            and the nearest valid one.
        SourceError: a settings file cannot be read."""
    collected = _Collected()
    if user is not None:
        file = Path(user) / TOML
        collected.tree(_read(file), Settings, "", str(file))
    if project is not None:
        # The nearest settings count, up to the top of the repository: above it is another
        # project.
        start = Path(project).absolute()
        for folder in (start, *start.parents):
            found = _project(folder)
            for origin, tree in found:
                collected.tree(tree, Settings, "", origin, own=False)
            if found or os.path.exists(folder / ".git"):  # noqa: PTH110 - no error on any disk
                break
    _environment(collected, environ or {})
    known = {squashed(path): path for path in collected.types}
    # Last, since a later source overwrites the earlier ones.
    for name, value in (flags or {}).items():
        path = known.get(squashed(name))
        option = f"option --{name.rpartition('.')[2].replace('_', '-')}"
        if path is None:
            raise unknown_setting(name, option)
        collected.put(path, value, option, option)
    return collected.done()


def _environment(collected: _Collected, environ: Mapping[str, str]) -> None:
    known = {squashed(path): path for path in collected.types}
    # Other variables that begin like ours belong to options of commands; within a section of
    # settings a name that does not exist is a mistake.
    sections = ("contextmanagement", "tokenbudget")
    for name in sorted(environ):
        if not name.startswith(ENVIRONMENT):
            continue
        key = squashed(name.removeprefix(ENVIRONMENT))
        path = known.get(key) or known.get(key.replace("tokenbudgetconfig", "tokenbudget", 1))
        origin = f"environment {name}"
        if path is not None:
            value = _parse_variable(environ[name], collected.types[path], origin)
            collected.put(path, value, origin, origin)
        elif key.startswith(sections):
            near = nearest(key, known)
            variable = ENVIRONMENT + known[near].replace(".", "_").upper() if near else ""
            hint = f"; the nearest valid one is {variable}" if near else ""
            raise UsageError(f"environment: there is no setting {name}{hint}")


_BOOLEANS = {"yes": True, "on": True, "true": True, "1": True}
_BOOLEANS |= {"no": False, "off": False, "false": False, "0": False}


def _parse_variable(text: str, type_: object, where: str) -> object:
    """The value that a variable's text means; lists separated by commas, tables as a=1,b=2."""
    base = get_args(type_)[0] if get_origin(type_) is Annotated else type_
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if base is bool:
        return _BOOLEANS.get(text.strip().casefold(), text)
    if get_origin(base) is tuple:
        if isinstance(get_args(base)[0], type) and issubclass(get_args(base)[0], Struct):
            raise UsageError(f"{where}: a list of tables can only be set in {TOML}")
        return pieces
    if get_origin(base) is dict:
        pairs = (piece.partition("=") for piece in pieces)
        return {name.strip(): _number(value, int) for name, _, value in pairs}
    return _number(text, base) if base in {int, float} else text


def _number(text: str, kind: type) -> object:
    try:
        return kind(text.strip())
    except ValueError:
        return text


def load_here(
    flags: Mapping[str, object] | None = None, project: str | os.PathLike[str] = "."
) -> LoadedSettings:
    """What is in force here, see `load`: the settings of every command, and those that the
    classes of the library have where they are given none."""
    user = user_folder(os.environ)
    return load(flags=flags, environ=os.environ, project=project, user=user)


def user_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The folder of the user's own settings, as the system (`sys.platform`) has it."""
    home = Path.home()
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif named := environ.get("XDG_CONFIG_HOME", "").strip():
        base = Path(named)
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = home / ".config"
    return base / "leftoff"
