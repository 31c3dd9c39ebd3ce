"""What packing, unpacking and patching do to files, as the real programs did it.

Every row was run by bash in a folder with `SHELL_FILES` (see `conftest.py`): the exit code, the
output, and what differed in the folder afterwards. `?` stands where we say that we do not know.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    "command,exit_code,output,made",
    [
        ("tar cf t.tar a.txt d; mkdir o; tar xf t.tar -C o d", 0, "", ["+o/d/c.txt", "+t.tar"]),
        (
            "tar cf t.tar a.txt d; mkdir o; tar xf t.tar -C o --strip-components=1",
            0,
            "",
            ["+o/c.txt", "+t.tar"],
        ),
        (
            "tar cf t.tar a.txt d; mkdir o; tar xvf t.tar -C o --strip-components=1",
            0,
            "d/c.txt\n",
            ["+o/c.txt", "+t.tar"],
        ),
        (
            "tar cf t.tar d; mkdir o; tar xf t.tar -C o --strip-components 1",
            0,
            "",
            ["+o/c.txt", "+t.tar"],
        ),
        ("tar -rf t.tar a.txt", 0, "", ["+t.tar"]),
        ("tar cf t.tar a.txt; tar -rf t.tar b.txt; tar -uf t.tar a.txt", 0, "", ["+t.tar"]),
        (
            "sed -i 's/two 2/two 9/' a.txt; patch < p.diff",
            1,
            "patching file a.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "~a.txt"],
        ),
        (
            "sed -i 's/two 2/two 9/' a.txt; patch a.txt < p.diff",
            1,
            "patching file a.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "~a.txt"],
        ),
        (
            "sed -i 's/two 2/two 9/' a.txt; patch -s a.txt < p.diff",
            1,
            "1 out of 1 hunk FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "~a.txt"],
        ),
        ("gzip -r d", 0, "", ["+d/c.txt.gz", "-d/c.txt"]),
        (
            "gzip -rv d",
            0,
            "d/c.txt:\t-33.3% -- replaced with d/c.txt.gz\n",
            ["+d/c.txt.gz", "-d/c.txt"],
        ),
        ("gunzip -r d", 0, "", []),
        ("gzip -r d; gunzip -r d", 0, "", []),
        ("zip -qr z d a.txt; unzip -qo z.zip 'd/*' -d o", 0, "", ["+o/d/c.txt", "+z.zip"]),
        ("zip -qr z d a.txt; unzip -qo z.zip -x a.txt -d o", 0, "", ["+z.zip", "?"]),
        (
            "tar cf t.tar -C d c.txt -C .. a.txt; tar xf t.tar -C e",
            0,
            "",
            ["+e/a.txt", "+e/c.txt", "+t.tar"],
        ),
        (
            "tar cf t.tar a.txt -C d c.txt; tar xf t.tar -C e",
            0,
            "",
            ["+e/a.txt", "+e/c.txt", "+t.tar"],
        ),
        ("tar cf t.tar d a.txt; tar --delete -f t.tar a.txt", 0, "", ["+t.tar"]),
        ("tar cf t.tar a.txt; tar xOf t.tar", 0, "one 1\ntwo 2\nthree\n", ["+t.tar"]),
        ("tar cf t.tar --exclude=c.txt d; mkdir o; tar xf t.tar -C o", 0, "", ["+t.tar", "?"]),
        ("tar -cf t.tar -T names; tar xf t.tar -C e", 0, "", ["+t.tar", "?"]),
        (
            "tar xf t.tar d --wildcards '*.txt'",
            2,
            "tar: t.tar: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n",
            [],
        ),
        (
            "tar cf t.tar a.txt; tar xf t.tar b.txt",
            2,
            "tar: b.txt: Not found in archive\ntar: Exiting with failure status due to previous errors\n",
            ["+t.tar"],
        ),
        ("tar cf - a.txt d | tar xf - -C e", 0, "", ["?"]),
        ("tar cf - a.txt d | (cd e; tar xf -)", 0, "", ["?"]),
        (
            "gzip -r .",
            0,
            "",
            [
                "+a.txt.gz",
                "+b.txt.gz",
                "+d/c.txt.gz",
                "+names.gz",
                "+p.diff.gz",
                "-a.txt",
                "-b.txt",
                "-d/c.txt",
                "-names",
                "-p.diff",
            ],
        ),
        ("gzip -r d a.txt; gzip -dr d", 0, "", ["+a.txt.gz", "-a.txt"]),
        ("gzip -rk d", 0, "", ["+d/c.txt.gz"]),
        ("cd d; gzip -r .", 0, "", ["+d/c.txt.gz", "-d/c.txt"]),
        (
            "patch < p.diff; patch < p.diff",
            1,
            "patching file a.txt\npatching file a.txt\nReversed (or previously applied) patch detected!  Assume -R? [n] \nApply anyway? [n] \nSkipping patch.\n1 out of 1 hunk ignored -- saving rejects to file a.txt.rej\n",
            ["+a.txt.rej", "~a.txt"],
        ),
        (
            "patch < p.diff; patch -N < p.diff",
            1,
            "patching file a.txt\npatching file a.txt\nReversed (or previously applied) patch detected!  Skipping patch.\n1 out of 1 hunk ignored -- saving rejects to file a.txt.rej\n",
            ["+a.txt.rej", "~a.txt"],
        ),
        (
            "patch < p.diff; patch -f < p.diff",
            1,
            "patching file a.txt\npatching file a.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "~a.txt"],
        ),
        (
            "patch < p.diff; patch -R < p.diff",
            0,
            "patching file a.txt\npatching file a.txt\n",
            ["~a.txt"],
        ),
        (
            "rm a.txt; patch < p.diff",
            1,
            "can't find file to patch at input line 3\nPerhaps you should have used the -p or --strip option?\nThe text leading up to this was:\n--------------------------\n|--- a.txt\n|+++ a.txt\n--------------------------\nFile to patch: \nSkip this patch? [y] \nSkipping patch.\n1 out of 1 hunk ignored\n",
            ["-a.txt"],
        ),
        (
            "rm a.txt; patch -f < p.diff",
            1,
            "can't find file to patch at input line 3\nPerhaps you should have used the -p or --strip option?\nThe text leading up to this was:\n--------------------------\n|--- a.txt\n|+++ a.txt\n--------------------------\nNo file to patch.  Skipping patch.\n1 out of 1 hunk ignored\n",
            ["-a.txt"],
        ),
        (
            "(cat p.diff; printf -- '--- b.txt\\n+++ b.txt\\n@@ -1,2 +1,2 @@\\n one b\\n-nope\\n+yes\\n') > q; patch < q",
            1,
            "patching file a.txt\npatching file b.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file b.txt.rej\n",
            ["+b.txt.orig", "+b.txt.rej", "+q", "~a.txt"],
        ),
        (
            "(cat p.diff; printf -- '--- b.txt\\n+++ b.txt\\n@@ -1,2 +1,2 @@\\n one b\\n-nope\\n+yes\\n') > q; patch -s < q",
            1,
            "1 out of 1 hunk FAILED -- saving rejects to file b.txt.rej\n",
            ["+b.txt.orig", "+b.txt.rej", "+q", "?"],
        ),
        (
            "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1,2 +1,2 @@\\n-one 1\\n+uno\\n two 2\\n@@ -10,2 +10,2 @@\\n zz\\n-qq\\n+q\\n' > q; patch < q",
            1,
            "patching file a.txt\nHunk #2 FAILED at 10.\n1 out of 2 hunks FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "+q", "~a.txt"],
        ),
        (
            "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1,2 +1,2 @@\\n-one 1\\n+uno\\n two 2\\n@@ -10,2 +10,2 @@\\n zz\\n-qq\\n+q\\n' > q; patch -s < q",
            1,
            "1 out of 2 hunks FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "+q", "~a.txt"],
        ),
        (
            "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1,2 +1,2 @@\\n-one 1\\n+uno\\n two 2\\n@@ -10,2 +10,2 @@\\n zz\\n-qq\\n+q\\n' > q; patch -p0 < q",
            1,
            "patching file a.txt\nHunk #2 FAILED at 10.\n1 out of 2 hunks FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.orig", "+a.txt.rej", "+q", "~a.txt"],
        ),
        (
            "printf -- '--- a/d/c.txt\\n+++ b/d/c.txt\\n@@ -1 +1 @@\\n-nope\\n+uno\\n' > q; patch -p1 < q",
            1,
            "patching file d/c.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file d/c.txt.rej\n",
            ["+d/c.txt.orig", "+d/c.txt.rej", "+q"],
        ),
        (
            "printf -- '--- a/d/c.txt\\n+++ b/d/c.txt\\n@@ -1 +1 @@\\n-one c\\n+uno\\n' > q; patch -p1 < q",
            0,
            "patching file d/c.txt\n",
            ["+q", "~d/c.txt"],
        ),
        (
            "printf -- '--- a/d/c.txt\\n+++ b/d/c.txt\\n@@ -1 +1 @@\\n-one c\\n+uno\\n' > q; patch -p1 -d . -i q",
            0,
            "patching file d/c.txt\n",
            ["+q", "~d/c.txt"],
        ),
        (
            "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1 +1 @@\\n-nope\\n+uno\\n' > q; patch --no-backup-if-mismatch < q",
            1,
            "patching file a.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file a.txt.rej\n",
            ["+a.txt.rej", "+q"],
        ),
        (
            "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1 +1 @@\\n-nope\\n+uno\\n' > q; patch -r - < q",
            1,
            "patching file a.txt\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED\n",
            ["+a.txt.orig", "+q"],
        ),
        (
            "printf -- 'garbage\\n' > q; patch < q",
            2,
            "patch: **** Only garbage was found in the patch input.\n",
            ["+q"],
        ),
        (
            "printf -- '--- /dev/null\\n+++ n.txt\\n@@ -0,0 +1 @@\\n+uno\\n' > q; patch < q",
            0,
            "patching file n.txt\n",
            ["+n.txt", "+q"],
        ),
        (
            "printf -- '--- a.txt\\n+++ /dev/null\\n@@ -1,3 +0,0 @@\\n-one 1\\n-two 2\\n-three\\n' > q; patch < q",
            0,
            "patching file a.txt\n",
            ["+q", "-a.txt"],
        ),
        (
            "patch nothing < p.diff",
            2,
            "patching file nothing\nHunk #1 FAILED at 1.\npatch: **** Can't reopen file nothing : No such file or directory\n",
            ["+nothing.orig"],
        ),
        (
            "patch -d e < p.diff",
            1,
            "can't find file to patch at input line 3\nPerhaps you should have used the -p or --strip option?\nThe text leading up to this was:\n--------------------------\n|--- a.txt\n|+++ a.txt\n--------------------------\nFile to patch: \nSkip this patch? [y] \nSkipping patch.\n1 out of 1 hunk ignored\n",
            [],
        ),
        ("patch --binary -u a.txt p.diff", 0, "patching file a.txt\n", ["~a.txt"]),
        ("tar --help > n", 0, "", ["+n"]),
        (
            "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x && git archive -o n.tar HEAD",
            0,
            "",
            ["+n.tar"],
        ),
        (
            "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x && git format-patch -1 --root --stdout > n",
            0,
            "",
            ["+n"],
        ),
    ],
)
def test_what_happens_to_files(
    shell_effects: Callable[[str, int, str], list[str]],
    command: str,
    exit_code: int,
    output: str,
    made: list[str],
) -> None:
    assert shell_effects(command, exit_code, output) == made
