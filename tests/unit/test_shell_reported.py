"""Programs that say what they did, and what is said where nothing is known of the files before.

Not run: the output is what the programs print by their documentation.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import FileState, Outcome

Effects = Callable[[str, int, str], list[str]]


@pytest.mark.parametrize(
    "command,exit_code,output,made",
    [
        ("black .", 0, "reformatted a.txt\nAll done!\n1 file reformatted, 2 files left unchanged.\n", ["~a.txt"]),
        ("isort .", 0, "Fixing a.txt\n", ["~a.txt"]),
        ("black a.txt", 0, "", ["?"]),
        ("black .", 0, "", ["?"]),
        ("black .", 123, "error: cannot format a.txt\n", []),
        ("black --check a.txt", 1, "would reformat a.txt\n", []),
        ("gofmt -l a.txt", 0, "a.txt\n", []),
        ("gofmt -l -w a.txt", 0, "a.txt\n", ["?"]),
        ("prettier --write a.txt", 0, "a.txt 10ms\n", ["?"]),
        ("prettier a.txt", 0, "one\n", []),
        ("ruff check --fix a.txt b.txt", 0, "Found 1 error (1 fixed, 0 remaining).\n", ["?", "?"]),
        ("ruff check .", 1, "a.txt:1:1 F401\n", []),
        ("ruff format a.txt", 0, "1 file reformatted\n", ["?"]),
        ("create n.py", 0, "[File: /w/n.py (1 lines total)]\n", ["+n.py"]),
        ("create a.txt", 0, "Error: File 'a.txt' already exists.\n", []),
        ("create n.py", 1, "", []),
        ("open a.txt", 0, "[File: a.txt (3 lines total)]\n", []),
        ("open gone.txt", 0, "File gone.txt not found\n", []),
        ("edit 1:2\nx\nend_of_edit", 0, "[File: b.txt (3 lines total)]\n", ["~b.txt"]),
        ("edit 1:2\nx\nend_of_edit", 0, "Your proposed edit has introduced new syntax error(s).\n", []),
        ("edit 1:2\nx\nend_of_edit", 0, "No file open. Use the open command first.\n", []),
        ("edit 1:2\nx\nend_of_edit", 0, "File updated.\n", ["?"]),
        ("edit 'x' 'y'", 0, "[File: a.txt (3 lines total)]\n", ["~a.txt"]),
        ("insert 3\nx\nend_of_edit", 0, "[File: a.txt (3 lines total)]\n", ["~a.txt"]),
        ("insert 3\nx\nend_of_edit", 0, "Usage: insert <line>\n", []),
        ("str_replace_editor create n.py --file_text x", 0, "File created successfully at: n.py\n", ["+n.py"]),
        ("str_replace_editor create a.txt --file_text x", 0, "ERROR: File already exists at: a.txt\n", []),
        ("str_replace_editor str_replace a.txt --old_str x --new_str y", 0, "The file a.txt has been edited.\n", ["~a.txt"]),
        ("str_replace_editor str_replace a.txt --old_str x", 0, "No replacement was performed\n", []),
        ("str_replace_editor insert a.txt 1 x", 0, "The file a.txt has been edited.\n", ["~a.txt"]),
        ("str_replace_editor undo_edit a.txt", 0, "Last edit undone.\n", ["~a.txt"]),
        ("str_replace_editor view a.txt", 0, "Here's the result\n", []),
        ("str_replace_editor view d", 0, "Here's the files and directories\n", []),
        ("apply_patch <<'E'\n*** Begin Patch\n*** Add File: n.py\n+x\n*** Update File: a.txt\n*** Move to: m.txt\n@@\n-x\n+y\n*** Delete File: b.txt\n*** End Patch\nE", 0, "Success.\n", ["+m.txt", "+n.py", "-a.txt", "-b.txt"]),
        ("apply_patch '*** Begin Patch\n*** Delete File: b.txt\n*** End Patch'", 0, "Success.\n", ["-b.txt"]),
        ("apply_patch '*** Begin Patch\n*** Delete File: b.txt\n*** End Patch'", 1, "", []),
        ("apply_patch", 0, "", ["?"]),
        ("rename .txt .md a.txt b.txt", 0, "", ["+a.md", "+b.md", "-a.txt", "-b.txt"]),
        ("rename 's/\\.txt$/.md/' *.txt", 0, "", ["+a.md", "+b.md", "-a.txt", "-b.txt"]),
        ("rename 's/a/z/' a.txt b.txt", 0, "", ["+z.txt", "-a.txt"]),
        ("rename 's/(.)x/$1/' a.txt", 0, "", ["?"]),
        ("rename -n 's/a/z/' a.txt", 0, "a.txt -> z.txt\n", []),
        ("rsync -a d/ n/", 0, "", ["+n/c.txt"]),
        ("rsync -a d n", 0, "", ["+n/d/c.txt"]),
        ("rsync a.txt e/", 0, "", ["+e/a.txt"]),
        ("rsync a.txt n.txt", 0, "", ["+n.txt"]),
        ("rsync -a --delete d/ e/", 0, "", ["+e/c.txt", "?"]),
        ("rsync -a d/ host:/x", 0, "", ["?"]),
        ("rsync -n a.txt e/", 0, "", []),
        ("rsync -a $U e/", 0, "", ["?"]),
        ("sort a.txt | sponge a.txt", 0, "", ["~a.txt"]),
        ("gawk -i inplace '{print}' a.txt nothing", 2, "gawk: cmd. line:1: warning: command line argument `nothing' is not a file\n", []),
        ("gawk -i inplace 1 a.txt nothing", 2, "gawk: fatal: cannot open file `nothing' for reading: No such file or directory\n", ["~a.txt"]),
        ("gawk -i inplace 1 a.txt", 0, "", ["~a.txt"]),
        ("zstd a.txt", 0, "", ["+a.txt.zst"]),
        ("zstd --rm a.txt", 0, "", ["+a.txt.zst", "-a.txt"]),
        ("lz4 a.txt -o n.lz4", 0, "", ["+n.lz4"]),
        ("unzip -q n.zip", 9, "unzip: cannot find or open n.zip\n", []),
        ("tar xf n.tar", 2, "tar: n.tar: Cannot open: No such file or directory\n", []),
        ("curl -O http://h/x.tgz", 0, "", ["+x.tgz"]),
        ("curl -O http://h/", 0, "", ["+h"]),
        ("curl -o n -d @a.txt http://h/x", 0, "", ["+n"]),
        ("curl -O $U", 0, "", ["?"]),
        ("wget http://h/x.tgz?v=1", 0, "", ["+x.tgz"]),
        ("wget -P e http://h/x.tgz", 0, "", ["+e/x.tgz"]),
        ("wget -r http://h/x", 0, "", ["?"]),
        ("wget --spider http://h/x", 0, "", []),
        ("wget http://h/x", 8, "ERROR 404: Not Found.\n", []),
        ("git stash pop", 0, "Dropped refs/stash@{0}\n", ["?"]),
        ("git stash", 1, "", []),
        ("git checkout topic", 0, "Switched to branch 'topic'\n", ["?"]),
        ("git checkout --ours a.txt", 0, "", ["?"]),
        ("git checkout HEAD~1 a.txt", 0, "Updated 1 path\n", ["?"]),
        ("git checkout topic -- a.txt b.txt", 0, "", ["?", "?"]),
        ("git merge topic", 1, "CONFLICT (content): Merge conflict in a.txt\n", ["?"]),
        ("git pull", 0, " a.txt | Bin 0 -> 5 bytes\n .../deep.txt | 2 ++\n 2 files changed\n", ["~a.txt"]),
        ("git pull", 0, "From h:x\n   1..2 main -> origin/main\n", ["?"]),
        ("git clean -fd e", 0, "", []),
        ("git clean -fdq e", 0, "", ["?"]),
        ("git clean -d", 0, "", []),
        ("git clean -fd -- e > /dev/null", 0, "", ["?"]),
        ("git apply n.diff", 0, "", []),
        ("git apply $U", 0, "", ["?"]),
        ("git apply --cached p.diff", 0, "", []),
        ("git apply --stat p.diff", 0, "", []),
        ("git add nothing && touch n; true", 0, "", []),
        ("git clone h x", 128, "fatal: repository 'h' does not exist\n", []),
        ("git clone h x", 0, "", ["?"]),
        ("git worktree add ../x", 0, "", ["?"]),
        ("git format-patch -1", 0, "", ["?"]),
        ("git archive -o n.tar HEAD", 0, "", ["+n.tar"]),
        ("git rm $U", 0, "", ["?"]),
        ("git mv a.txt $U", 0, "", ["?", "?"]),
        ("git -c x=y --no-pager -C e mv ../a.txt n", 0, "", ["+e/n", "-a.txt"]),
        ("git -C $U rm a.txt", 0, "rm 'a.txt'\n", ["?"]),
        ("deno run n.ts", 0, "", []),
        ("node a.txt", 0, "", ["?"]),
        ("node a.txt", 1, "Error\n", []),
        ("php -l a.txt", 0, "", ["?"]),
        ("echo 'x=1' > s.rb; ruby s.rb", 0, "", ["+s.rb"]),
        ("python3 a.txt", 0, "", ["?"]),
        ("python3 a.txt", 1, "Traceback\n", []),
        ('python3 -c "$U"', 0, "", ["?"]),
        ("python3 -m black a.txt", 0, "", ["?"]),
        ("python3 -m http.server", 1, "", []),
        ("python3 -m", 2, "", []),
        ("powershell -c x", 0, "", ["?"]),
        ("sqlite3 a.txt < b.txt", 0, "", ["?"]),
    ],
)  # fmt: skip
def test_what_it_says_is_what_it_did(
    shell_effects: Effects, command: str, exit_code: int, output: str, made: list[str]
) -> None:
    assert shell_effects(command, exit_code, output) == made


@pytest.mark.parametrize(
    "command,exit_code,output,said",
    [
        ("cp a.txt b.txt", 0, "", [("created", "b.txt", "likely"), ("read", "a.txt", "sure")]),
        ("cp a.txt src", 0, "", [("created", "src/a.txt", "likely"), ("read", "a.txt", "sure")]),
        ("cp *.txt b", 0, "", [("read", "*.txt", "unknown"), ("unknown", "b", "unknown")]),
        ("mv a.txt b.txt", 1, "", []),
        ("mv src lib", 0, "", [("created", "lib/", "likely"), ("deleted", "src/", "likely")]),
        ("mv .notes notes.txt", 0, "", [("created", "notes.txt", "likely"), ("deleted", ".notes", "sure")]),
        ("rm -rf build", 0, "", [("deleted", "build/", "likely")]),
        ("rm -f a.txt", 0, "", [("deleted", "a.txt", "unknown")]),
        ("rm a.txt b.txt", 1, "", [("deleted", None, "unknown")]),
        ("rm a.txt b.txt", 1, "rm: cannot remove 'a.txt': No such file\n", [("deleted", "b.txt", "sure")]),
        ("rm src/", 1, "", []),
        ("touch a.txt", 0, "", [("created", "a.txt", "likely")]),
        ("sed -i s/x/y/ a.txt b.txt", 1, "sed: can't read b.txt: No such file\n", [("modified", "a.txt", "sure")]),
        ("cat a.txt b.txt", 1, "cat: b.txt: No such file or directory\n", [("read", "a.txt", "likely")]),
        ("tar xf t.tar src", 0, "", [("read", "t.tar", "sure"), ("unknown", None, "unknown")]),
        ("tar xf t.tar a.txt", 0, "", [("created", "a.txt", "likely"), ("read", "t.tar", "sure")]),
        ("tar cf t.tar src", 0, "", [("created", "t.tar", "likely")]),
        ("gzip -r src", 0, "", [("unknown", None, "unknown")]),
        ("gzip $U", 0, "", [("unknown", None, "unknown")]),
        ("cp -rv src lib", 0, "'src' -> 'lib'\n'src/a' -> 'lib/a'\n", [("created", "lib/a", "likely"), ("read", "src/a", "sure")]),
        ("ln -s a.txt l", 0, "", [("created", "l", "likely")]),
        ("find src -name '*.o' -delete", 0, "", [("deleted", None, "unknown")]),
        ("find . -name '*.o' -execdir rm {} \\;", 0, "", [("deleted", None, "unknown")]),
        ("for f in *.txt; do rm $f; done", 0, "", [("deleted", None, "unknown")]),
        ("cd src && touch a", 0, "", [("created", "src/a", "likely")]),
        ("cd nowhere; touch a", 0, "bash: line 1: cd: nowhere: No such file or directory\n", [("created", "a", "likely")]),
        ("touch ~/a; rm ~/a", 0, "", []),
        ("cd; touch a", 0, "", [("created", "~/a", "likely")]),
        ("rm -i a.txt", 0, "rm: remove regular file 'a.txt'? ", [("deleted", "a.txt", "unknown")]),
    ],
)  # fmt: skip
def test_where_nothing_is_known_before(
    command: str, exit_code: int, output: str, said: list[tuple[str, str | None, str]]
) -> None:
    found = resolve(
        analyze(command),
        outcome=Outcome(exit_code=exit_code, output=output),
        known=FileState([], [], []),
    )
    assert sorted(
        ((e.action, e.path, e.certainty) for e in found), key=lambda e: (e[0], e[1] or "")
    ) == sorted(said, key=lambda e: (e[0], e[1] or ""))
