"""Import paths of version 0.1 that moved: each still works for one release, with a warning.

`MOVED` is the one table. A name maps to the modules that hold what the old module held; the old
module becomes a view of them. To end the transition, delete this file and its line in
`leftoff/__init__.py`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    ModuleType = type(sys)  # `import leftoff` imports nothing else: a test holds it

MOVED: dict[str, tuple[str, ...]] = {
    "accounts": ("incremental.accounts",),
    "budgets": ("budget.tasks",),
    "compatibility": ("handover.compatibility",),
    "discovery": ("sources.discover",),
    "documents": ("handover",),
    "documents.briefing": ("handover.briefing",),
    "documents.checkpoint": ("handover.checkpoint.document",),
    "documents.checkpoint.dumps": ("handover.checkpoint.dumps",),
    "documents.checkpoint.injection": ("handover.checkpoint.injection",),
    "documents.checkpoint.roles": ("handover.checkpoint.roles",),
    "documents.resume_log": ("handover.resume_log.document",),
    "documents.resume_state": ("handover.resume_state.document",),
    "documents.resume_state.message": ("handover.resume_state.message",),
    "documents.review": ("handover.review",),
    "extraction.gate": ("extraction.rules",),
    "extraction.paths": ("shell.paths",),
    "extraction.shell": ("shell.effects",),
    "extraction.view": ("extraction.extractor",),
    "findings": ("summary",),
    "forecast": ("budget.forecast",),
    "formats.elements": ("formats.lenient_json",),
    "formats.tools": ("formats.vocabulary",),
    "handoff": ("handover.decision_table",),
    "layout": ("text.markdown",),
    "ledger": ("budget.usage", "budget.account"),
    "live.following": ("incremental.follow",),
    "stores.places": ("stores.naming",),
    "stores.sealing": ("stores.envelope",),
    "stores.writing": ("stores.atomic",),
    "thresholds": ("budget.thresholds",),
    "windows": ("budget.windows",),
}
"""Old module: where its contents are now; both without the leading `leftoff.`."""

RENAMED: dict[str, dict[str, str]] = {
    "summary": {
        "Pass": "analysis.session_pass",
        "format_context_summary": "analysis.seed001",
        "from_json": "analysis.summary_json",
        "seed_shape": "analysis.seed001",
        "to_json": "analysis.summary_json",
        "to_plain": "analysis.summary_json",
    },
    "incremental.accounts": {
        "Accounted": "incremental.accounts:SessionAccount",
        "Following": "incremental.accounts:AccountFollower",
        "account_of_gathered": "incremental.accounts:account_of_reading",
    },
    "stores": {
        "Keeping": "stores.protocol:PrunableStore",
        "Kept": "stores.protocol:StoredDocument",
        "Opener": "stores.protocol:StoreOpener",
    },
    "stores.envelope": {
        "clean": "stores.envelope:sanitize",
        "gate_of": "stores.envelope:redactor_for",
        "glance": "stores.envelope:read_header",
        "glimpse": "stores.envelope:read_header_or_none",
        "resealed": "stores.envelope:reseal",
    },
    "stores.naming": {
        "PLACES": "stores.naming:LOCATIONS",
        "place_of": "stores.naming:location_of",
        "plain": "stores.naming:check_id",
    },
}
"""Module: names that left it or were renamed, and where they are now: "module", or
"module:new_name"."""


class _View(ModuleType):
    """An old module: its attributes are those of the modules that replaced it."""

    _targets: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        from importlib import import_module

        for target in self._targets:
            try:
                return getattr(import_module(f"leftoff.{target}"), name)
            except AttributeError:
                continue
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class MovedModules:
    """Finds modules under the names that they had before. Stands last on `sys.meta_path`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("leftoff.") or name.removeprefix("leftoff.") not in MOVED:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        view = _View(spec.name, "Moved; see `leftoff._moved`.")
        view._targets = MOVED[spec.name.removeprefix("leftoff.")]
        return view

    def exec_module(self, module: ModuleType) -> None:
        import warnings

        assert isinstance(module, _View)
        now = " and ".join(f"leftoff.{target}" for target in module._targets)
        warnings.warn(
            f"{module.__name__} is now {now}; the old name goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )


def install() -> None:
    """Puts the finder on `sys.meta_path`, once."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def moved_name(module: str, name: str) -> object:
    """A name that left `module` or was renamed, from where it is now, with a warning.

    Raises:
        AttributeError: the module never had it.
    """
    target = RENAMED[module].get(name)
    if target is None:
        raise AttributeError(f"module 'leftoff.{module}' has no attribute {name!r}")
    import warnings
    from importlib import import_module

    home, _, renamed = target.partition(":")
    warnings.warn(
        f"leftoff.{module}.{name} is now leftoff.{home}.{renamed or name}; the old name goes"
        " with the next release",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(f"leftoff.{home}"), renamed or name)
