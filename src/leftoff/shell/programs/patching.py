"""Programs that apply patches: ``patch`` and the ``apply_patch`` of agents."""

from leftoff.shell import operations as ops
from leftoff.shell.commands import Invocation
from leftoff.shell.embedded.patches import marked_patch_effects, patch_effects
from leftoff.shell.programs.interpreters import apply_steps
from leftoff.shell.state import Status, Walk


def _run_patch(walk: Walk, args: Invocation) -> Status:
    """``patch``: the text of the patch says what it changes, if all of it went in place;
    otherwise any file may have changed."""
    source = args.value("-i", "--input") or next(iter(args.operands[1:]), None)
    text = walk.stdin if source is None else walk.known_content(source)
    if source is not None and ops.read(walk, source) is False:
        return False
    if args.has("--dry-run"):
        return None
    shown = "" if walk.captured or walk.stderr_hidden else walk.output or ""
    # `1 out of 2 hunks FAILED`, `hunk ignored`, `**** malformed patch`.
    off = (" FAILED ", " ignored", "****")
    if walk.expected_status is False and not any(mark in shown for mark in off):
        return False
    named: list[str] = []
    saved: set[str] = set()  # where a hunk is off its place, the old file stays as `.orig`
    for line in shown.splitlines():
        if line.startswith("patching file "):
            named.append(line[14:].strip("'"))
        elif named and (" with fuzz " in line or " (offset " in line):
            saved.add(named[-1])
    odd = args.has("-d", "--directory", "-o", "--output", "-b", "--backup", "-R", "--reverse")
    if odd or any(mark in shown for mark in off):
        walk.effects.unknown("patch")
    elif text is not None and not args.operands:
        apply_steps(walk, "patch", patch_effects(text, args.value("-p", "--strip")))
    elif args.operands:
        ops.modify(walk, args.operands[0])
    elif named:
        uncertainty = walk.uncertainty
        for name in named:  # it may also have removed one that was there
            walk.uncertainty = uncertainty if walk.kind(name) == "absent" else 2
            ops.write(walk, name, guess_append=True)
        walk.uncertainty = uncertainty
    else:
        walk.effects.unknown("patch")
    for name in sorted(saved) if not args.has("--posix", "--no-backup-if-mismatch") else ():
        ops.write(walk, name + ".orig", "patch")
    return None


def _run_apply_patch(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    # Agents give the patch as an argument or as a here-document.
    if args.operands and "*** Begin Patch" in args.operands[0]:
        text = args.operands[0]
    if walk.expected_status is False:
        return False
    if text is None:
        walk.effects.unknown(args.name)
        return None
    return apply_steps(walk, args.name, marked_patch_effects(text))
