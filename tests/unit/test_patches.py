"""What patches do to files."""

from __future__ import annotations

import pytest

from leftoff.extraction.patches import patched_files
from leftoff.shell.embedded.patches import diff_steps

GIT = """\
diff --git a/old.py b/old.py
index 111..222 100644
--- a/old.py
+++ b/old.py
@@ -1,2 +1,3 @@
 one
--- a line that begins with dashes
+++ b/and one with plus signs
+two
diff --git a/new.py b/new.py
new file mode 100644
index 000..333
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
diff --git a/empty.txt b/empty.txt
new file mode 100644
index 000..e69
diff --git a/gone.py b/gone.py
deleted file mode 100644
index 333..000
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/a/from.py b/a/to.py
similarity index 100%
rename from a/from.py
rename to a/to.py
diff --git a/p.py b/q.py
similarity index 90%
rename from p.py
rename to q.py
index 4..5 100644
--- a/p.py
+++ b/q.py
@@ -1 +1 @@
-x
+y
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/logo.png b/logo.png
index 6..7 100644
Binary files a/logo.png and b/logo.png differ
diff --git "a/caf\\303\\251.txt" "b/caf\\303\\251.txt"
index 8..9 100644
--- "a/caf\\303\\251.txt"
+++ "b/caf\\303\\251.txt"
@@ -1 +1 @@
-x
+y
"""

STEPS = [
    ("modify", "old.py", ""),
    ("add", "new.py", ""),
    ("add", "empty.txt", ""),
    ("delete", "gone.py", ""),
    ("move", "a/from.py", "a/to.py"),
    ("move", "p.py", "q.py"),
    ("modify", "q.py", ""),
    ("modify", "logo.png", ""),
    ("modify", "café.txt", ""),
]


def test_every_kind_of_part_of_a_git_diff_is_read() -> None:
    assert diff_steps(GIT) == STEPS


def test_a_reversed_diff_does_the_contrary() -> None:
    found = {(verb, path) for verb, path, _ in diff_steps(GIT, reverse=True)}
    assert {("delete", "new.py"), ("add", "gone.py"), ("modify", "old.py")} <= found
    assert ("move", "a/to.py", "a/from.py") in diff_steps(GIT, reverse=True)


@pytest.mark.parametrize(
    ("level", "expected"),
    [(None, "src/a.c"), ("0", "x/src/a.c"), ("1", "src/a.c"), ("2", "a.c")],
)
def test_leading_directories_are_stripped(level: str | None, expected: str) -> None:
    prefix = "a" if level is None else "x"
    text = f"--- {prefix}/src/a.c\n+++ {prefix}/src/a.c\n@@ -1 +1 @@\n-x\n+y\n"
    assert diff_steps(text, level) == [("modify", expected, "")]


def test_plain_diffs_follow_each_other() -> None:
    text = (
        "--- a.c\t2026-01-01\n+++ a.c\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n"
        "--- /dev/null\n+++ b.c\n@@ -0,0 +1 @@\n+x\n"
    )
    assert diff_steps(text) == [("modify", "a.c", ""), ("add", "b.c", "")]


def test_a_hunk_with_wrong_counts_does_not_swallow_the_next_file() -> None:
    text = "--- a.c\n+++ a.c\n@@ -1,9 +1,9 @@\n-x\n+y\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-x\n+y\n"
    assert [path for _, path, _ in diff_steps(text)] == ["a.c", "b.c"]


def test_an_agents_own_patch_form_is_read() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: n.py\n+x\n*** Update File: a.py\n@@\n-x\n+y\n"
        "*** Update File: old.py\n*** Move to: new.py\n@@\n-x\n+y\n*** Delete File: d.py\n"
        "*** End Patch\n"
    )
    assert patched_files(patch) == [
        ("create", "n.py", ""),
        ("edit", "a.py", ""),
        ("move", "old.py", "new.py"),
        ("delete", "d.py", ""),
    ]


def test_a_moved_and_changed_file_is_told_once() -> None:
    assert ("edit", "q.py", "") not in patched_files(GIT)
    assert ("move", "p.py", "q.py") in patched_files(GIT)


@pytest.mark.parametrize(
    "text", ["", "diff --git ", "--- \n+++ \n", "@@ -1 +1 @@\n", "*** Add File: "]
)
def test_broken_patches_do_nothing_odd(text: str) -> None:
    assert all(len(step) == 3 for step in [*diff_steps(text), *patched_files(text)])
