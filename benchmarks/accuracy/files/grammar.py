"""Command lines as agents write them, by stratum, filled with names of a tree.

The writer of a template does not ask what an analyser can do: some effects depend on contents
that no transcript shows.
"""

# One template a line, all of one signature, reads best uncut.
# ruff: noqa: ARG005, E501

from __future__ import annotations

import random
import shlex
from collections.abc import Callable

from benchmarks.accuracy.files.fixtures import Tree, word

Maker = Callable[[Tree, random.Random], str]
STRATA: dict[str, list[Maker]] = {}


def q(name: str) -> str:
    return shlex.quote(name)


def quoted(name: str, rng: random.Random) -> str:
    """The name in one of the ways people quote."""
    if any(char in name for char in " ()"):
        return rng.choice(
            (
                f'"{name}"',
                f"'{name}'",
                name.replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)"),
            )
        )
    return rng.choice((name, name, name, f'"{name}"', f"'{name}'", f"./{name}"))


def new(tree: Tree, rng: random.Random, suffix: str = ".txt") -> str:
    """A path that does not exist, often inside a directory that does."""
    name = word(rng) + word(rng) + suffix
    folders = tree.directories()
    return f"{rng.choice(folders)}/{name}" if folders and rng.random() < 0.4 else name


def some(tree: Tree, rng: random.Random, suffix: str = "") -> str:
    return quoted(tree.pick(rng, suffix), rng)


def fresh(tree: Tree, rng: random.Random, suffix: str = ".txt") -> str:
    return quoted(new(tree, rng, suffix), rng)


def either(tree: Tree, rng: random.Random, suffix: str = "") -> str:
    return some(tree, rng, suffix) if rng.random() < 0.5 else fresh(tree, rng, suffix or ".txt")


def gone(tree: Tree, rng: random.Random) -> str:
    return word(rng) + "-missing" + rng.choice((".txt", ".py", ""))


def suffix_of(tree: Tree, rng: random.Random) -> str:
    suffixes = sorted(
        {"." + n.rpartition(".")[2] for n in tree.files if "." in n.rpartition("/")[2][1:]}
    )
    return rng.choice(suffixes) if suffixes else ".txt"


def _each(name: str, *forms: Maker) -> None:
    STRATA.setdefault(name, []).extend(forms)


_each(
    "redirections",
    lambda t, r: f"echo {word(r)} > {either(t, r)}",
    lambda t, r: f"echo '{word(r)} {word(r)}' >> {either(t, r)}",
    lambda t, r: f"printf '%s\\n' {word(r)} {word(r)} > {fresh(t, r)}",
    lambda t, r: f"sort {some(t, r)} > {fresh(t, r)}",
    lambda t, r: f"cat {some(t, r)} {some(t, r)} > {fresh(t, r)}",
    lambda t, r: f"grep -n alpha {some(t, r)} > {fresh(t, r)} 2>&1",
    lambda t, r: f"wc -l < {some(t, r)} > {fresh(t, r)}",
    lambda t, r: f"ls -la > {fresh(t, r)}",
    lambda t, r: f"echo {word(r)} | tee {either(t, r)}",
    lambda t, r: f"echo {word(r)} | tee -a {some(t, r)} > /dev/null",
    lambda t, r: f"ls {gone(t, r)} 2> {fresh(t, r, '.err')}",
    lambda t, r: f"echo {word(r)} >| {some(t, r)}",
    lambda t, r: f"(echo a; echo b) > {either(t, r)}",
    lambda t, r: f"{{ date; cat {some(t, r)}; }} >> {either(t, r, '.log')}",
    lambda t, r: f"cat {gone(t, r)} &> {fresh(t, r, '.log')}",
    lambda t, r: f": > {some(t, r)}",
    lambda t, r: f"> {either(t, r)}",
    lambda t, r: f"head -n 2 {some(t, r)} | tr a-z A-Z > {fresh(t, r)}",
    lambda t, r: f"python3 -c 'print(3)' > {either(t, r)} 2>/dev/null",
    lambda t, r: f"echo {word(r)} > {word(r)}-nodir/{word(r)}.txt",
    lambda t, r: f"cut -d, -f1 {some(t, r)} | sort -u | tee {fresh(t, r)} | wc -l",
    lambda t, r: f"diff {some(t, r)} {some(t, r)} > {fresh(t, r, '.diff')}",
)

_each(
    "heredocs",
    lambda t, r: f"cat > {either(t, r)} <<'EOF'\n{word(r)}\nrm -rf {some(t, r)}\nEOF",
    lambda t, r: f"cat <<EOF > {either(t, r, '.py')}\nimport os\nos.remove('{t.pick(r)}')\nEOF",
    lambda t, r: f"cat >> {some(t, r)} << 'END'\nmv a b > c\nEND",
    lambda t, r: f"cat <<'EOF'\ntouch {word(r)}.txt\nEOF",
    lambda t, r: (
        f"tee {fresh(t, r, '.md')} <<EOF >/dev/null\n# {word(r)}\n\n> quoted > text\nEOF"
    ),
    lambda t, r: f"cat > {fresh(t, r)} <<EOF && echo done\nit's fine\nEOF",
    lambda t, r: f"mkdir -p {word(r)}dir && cat > {word(r)}.txt <<-'X'\n\tindented\n\tX\n",
    lambda t, r: f"grep -c alpha <<< 'alpha beta' > {fresh(t, r)}",
    lambda t, r: (
        f"cat > {fresh(t, r, '.sh')} <<'EOF'\n#!/bin/bash\nfor f in *; do rm \"$f\"; done\nEOF\nls | wc -l"
    ),
    lambda t, r: f"cat <<A > {fresh(t, r)}; cat {some(t, r)} > /dev/null\nfirst\nA",
    lambda t, r: (
        f"python3 - <<'PY'\nfrom pathlib import Path\nPath({new(t, r)!r}).write_text('x')\nPY"
    ),
    lambda t, r: f"bash <<'EOF'\nrm {q(t.pick(r))}\ntouch {word(r)}.new\nEOF",
    lambda t, r: f"sh -s <<'EOF'\necho hello > {word(r)}.out\nEOF",
    lambda t, r: (
        f"cat > {(s := word(r) + '.sh')} <<'EOF'\necho x > {word(r)}.made\nEOF\nbash {s}"
    ),
    lambda t, r: (
        f"cat > {(s := word(r) + '.py')} <<'EOF'\nopen('{word(r)}.made', 'w').write('x')\nEOF\npython3 {s} && rm {s}"
    ),
    lambda t, r: f"X={word(r)}\ncat > $X.txt <<EOF\nname=$X\nEOF",
    lambda t, r: f"cat <<'EOF' | sort > {fresh(t, r)}\nb > a\na && rm x\nEOF",
)

_each(
    "in_place",
    lambda t, r: f"sed -i 's/alpha/omega/' {some(t, r)}",
    lambda t, r: f"sed -i.bak 's/alpha/omega/g' {some(t, r)}",
    lambda t, r: f"sed -i -e '1d' -e 's/value/count/' {some(t, r, '.txt')}",
    lambda t, r: f"perl -pi -e 's/alpha/gamma/' {some(t, r)}",
    lambda t, r: f"perl -i.orig -pe 's/alpha/gamma/' {some(t, r)}",
    lambda t, r: f"sed -i '$a {word(r)}' {some(t, r)} {some(t, r)}",
    lambda t, r: f"sort -r -o {(n := some(t, r))} {n}",
    lambda t, r: f"truncate -s 0 {some(t, r)}",
    lambda t, r: f"truncate -s 20 {either(t, r)}",
    lambda t, r: f"ed -s {some(t, r)} <<'EOF'\n1d\nw\nq\nEOF",
    lambda t, r: f"ex -s -c '1d' -c 'wq' {some(t, r)}",
    lambda t, r: f"sed -i 's/no-such-text/x/' {some(t, r)}",
    lambda t, r: f"sed -n '1,2p' {some(t, r)}",
    lambda t, r: f"sed -i 's/alpha/beta/' {gone(t, r)}",
    lambda t, r: f"sed -i 's/alpha/beta/' *{suffix_of(t, r)}",
    lambda t, r: f"sed 's/alpha/beta/' {(n := some(t, r))} > /tmp/$$.x && cat /tmp/$$.x > {n}",
    lambda t, r: (
        f"awk '{{print NR, $0}}' {(n := some(t, r))} > {(m := word(r))}.tmp && mv {m}.tmp {n}"
    ),
    lambda t, r: (
        f'tmp=$(mktemp) && grep -v alpha {(n := some(t, r))} > "$tmp" && cp "$tmp" {n}'
    ),
    lambda t, r: (
        f"python3 -c \"p={t.pick(r)!r}; s=open(p).read(); open(p,'w').write(s.replace('alpha','beta'))\""
    ),
    lambda t, r: f"sed --in-place=.old 's/a/b/' {some(t, r)}",
)

_each(
    "copy_move",
    lambda t, r: f"cp {some(t, r)} {either(t, r)}",
    lambda t, r: f"mv {some(t, r)} {fresh(t, r)}",
    lambda t, r: f"mv {some(t, r)} {some(t, r)}",
    lambda t, r: f"cp {some(t, r)} {some(t, r)} {t.directory(r).replace(' ', chr(92) + ' ')}/",
    lambda t, r: f"mv {some(t, r)} {q(t.directory(r))}",
    lambda t, r: f"cp -r {q(t.directory(r))} {word(r)}_copy",
    lambda t, r: f"mv {q(t.directory(r))} {word(r)}_moved",
    lambda t, r: f"cp -a {q(t.directory(r))}/. {word(r)}_all/",
    lambda t, r: f"ln -s {some(t, r)} {fresh(t, r, '.lnk')}",
    lambda t, r: f"ln {some(t, r)} {fresh(t, r)}",
    lambda t, r: f"install -m 644 {some(t, r)} {fresh(t, r)}",
    lambda t, r: f"install -D {some(t, r)} {word(r)}/{word(r)}/x.txt",
    lambda t, r: f"mkdir -p {(d := word(r))}/sub && mv {some(t, r)} {d}/sub/",
    lambda t, r: f"cp -n {some(t, r)} {some(t, r)}",
    lambda t, r: f"cp {q(t.directory(r))} {word(r)}_x",
    lambda t, r: f"mv -v {some(t, r)} {fresh(t, r)}",
    lambda t, r: f"cp *{suffix_of(t, r)} {q(t.directory(r))}/",
    lambda t, r: f"mkdir {(d := word(r))} && mv *{suffix_of(t, r)} {d}",
    lambda t, r: f"cp -t {q(t.directory(r))} {some(t, r)}",
    lambda t, r: f"rm {some(t, r)}",
    lambda t, r: f"rm -rf {q(t.directory(r))}",
    lambda t, r: f"rm -f {some(t, r)} {gone(t, r)}",
    lambda t, r: f"rm -v {some(t, r)} {some(t, r)}",
    lambda t, r: f"cp {(n := some(t, r))} {n}.bak",
    lambda t, r: f"cp {q(t.pick(r))}{{,.orig}}",
    lambda t, r: f"touch {either(t, r)} {fresh(t, r)}",
    lambda t, r: f"dd if={some(t, r)} of={fresh(t, r)} bs=1 count=8 2>/dev/null",
    lambda t, r: f"split -l 3 {some(t, r)} {word(r)}_part_",
    lambda t, r: f"mv {(n := some(t, r))} {n}.tmp && mv {n}.tmp {n}",
    lambda t, r: f"rm -r {q(t.directory(r))}/*",
)


def _archive(t: Tree, r: random.Random, suffix: str) -> str:
    found = [name for name in t.archives if name.endswith(suffix)]
    return q(found[0]) if found else f"{word(r)}{suffix}"


_each(
    "archives",
    lambda t, r: f"tar czf {word(r)}.tgz {q(t.directory(r))}",
    lambda t, r: f"tar -cvf {word(r)}.tar {some(t, r)} {some(t, r)}",
    lambda t, r: f"tar xzf {_archive(t, r, '.tgz')}",
    lambda t, r: f"tar -xvzf {_archive(t, r, '.tgz')}",
    lambda t, r: f"tar tzf {_archive(t, r, '.tgz')}",
    lambda t, r: f"unzip -o {_archive(t, r, '.zip')}",
    lambda t, r: f"unzip -q {_archive(t, r, '.zip')} -d {word(r)}_out",
    lambda t, r: f"unzip -l {_archive(t, r, '.zip')}",
    lambda t, r: f"zip -r {word(r)}.zip {q(t.directory(r))}",
    lambda t, r: f"gzip {some(t, r)}",
    lambda t, r: f"gzip -k {some(t, r)}",
    lambda t, r: f"gzip -c {some(t, r)} > {word(r)}.gz",
    lambda t, r: f"gzip {(n := q(t.pick(r)))} && gunzip {n}.gz",
    lambda t, r: f"bzip2 {some(t, r)}",
    lambda t, r: f"tar czf {word(r)}.tgz {q(d := t.directory(r))} && rm -rf {q(d)}",
    lambda t, r: (
        f"tar cf {(a := word(r))}.tar {q(t.directory(r))} && mkdir {(o := word(r))} && tar xf {a}.tar -C {o}"
    ),
    lambda t, r: f"zip -j {word(r)}.zip {some(t, r)} {some(t, r)}",
    lambda t, r: f"xz -k {some(t, r)}",
    lambda t, r: (
        f"mkdir -p {(o := word(r))} && tar -xzf {_archive(t, r, '.tgz')} -C {o} --strip-components=1"
    ),
    lambda t, r: f"zcat {gone(t, r)}.gz > {fresh(t, r)}",
)


_each(
    "git",
    lambda t, r: f"git rm -f {some(t, r)}",
    lambda t, r: f"git rm -r --cached {q(t.directory(r))}",
    lambda t, r: f"git mv {some(t, r)} {fresh(t, r)}",
    lambda t, r: "git add -A && git commit -m 'rm everything > here'",
    lambda t, r: f"git checkout -- {some(t, r)}",
    lambda t, r: f"git restore {q(r.choice(t.dirty)) if t.dirty else some(t, r)}",
    lambda t, r: "git stash",
    lambda t, r: "git stash && git stash pop",
    lambda t, r: "git reset --hard HEAD",
    lambda t, r: "git clean -fd",
    lambda t, r: "git clean -n",
    lambda t, r: "git status --short",
    lambda t, r: "git diff --stat > changes.txt",
    lambda t, r: f"git checkout -b {word(r)}",
    lambda t, r: (
        f"git checkout -b {(b := word(r))} && echo x > {(n := word(r))}.txt && git add {n}.txt && git commit -qm '{b}' && git checkout -q -"
    ),
    lambda t, r: f"echo x > {(n := word(r))}.txt && git add {n}.txt && git commit -m 'Add {n}'",
    lambda t, r: "git log --oneline | head -3",
    lambda t, r: (
        f"git diff > {(n := word(r))}.patch && git checkout -- . && git apply {n}.patch"
    ),
    lambda t, r: (
        f"cp {some(t, r)} {(n := word(r))}.txt && git add {n}.txt && git rm -qf {n}.txt"
    ),
    lambda t, r: f"git show HEAD:{q(t.pick(r))} > {fresh(t, r)}",
    lambda t, r: f"git mv {q(t.directory(r))} {word(r)}_dir",
    lambda t, r: f"git -C {q(t.directory(r))} status",
    lambda t, r: f"git checkout HEAD -- {some(t, r)} {some(t, r)}",
    lambda t, r: (
        f"git apply <<'EOF'\ndiff --git a/{(n := word(r))}.txt b/{n}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/{n}.txt\n@@ -0,0 +1 @@\n+hello\nEOF"
    ),
    lambda t, r: f"git rm {gone(t, r)}",
    lambda t, r: f"git revert --no-edit HEAD~0 && ls {q(t.directory(r))}",
)

_each(
    "loops",
    lambda t, r: f'for f in {some(t, r)} {some(t, r)}; do cp "$f" "$f.bak"; done',
    lambda t, r: f'for f in *{suffix_of(t, r)}; do mv "$f" "${{f%.*}}.old"; done',
    lambda t, r: f"for i in 1 2 3; do echo $i > {word(r)}$i.txt; done",
    lambda t, r: f"for i in $(seq 1 3); do touch {word(r)}_$i; done",
    lambda t, r: f"for n in {{a..c}}; do echo $n >> {word(r)}.txt; done",
    lambda t, r: f'F={q(t.pick(r))}; echo x >> "$F"; rm -f "${{F}}.none"',
    lambda t, r: f"OUT={word(r)}.out\nsort {some(t, r)} > $OUT\ncat $OUT",
    lambda t, r: f"rm *{suffix_of(t, r)}",
    lambda t, r: f"touch {word(r)}.{{js,ts,css}}",
    lambda t, r: f"mkdir -p {(d := word(r))}/{{a,b}} && touch {d}/{{a,b}}/x.txt",
    lambda t, r: f'for d in {q(t.directory(r))}; do rm -f "$d"/*; done',
    lambda t, r: "for f in $(ls *.txt); do wc -l $f; done",
    lambda t, r: (
        f"while read -r n; do touch \"$n.md\"; done <<'EOF'\n{word(r)}\n{word(r)}\nEOF"
    ),
    lambda t, r: (
        f"printf '%s\\n' {word(r)} {word(r)} | while read n; do echo $n > $n.txt; done"
    ),
    lambda t, r: (
        f'files=({some(t, r)} {some(t, r)}); for f in "${{files[@]}}"; do echo >> "$f"; done'
    ),
    lambda t, r: f"for ((i=0;i<2;i++)); do echo $i > {word(r)}_$i.log; done",
    lambda t, r: f"i=0; while [ $i -lt 2 ]; do touch {word(r)}$i; i=$((i+1)); done",
    lambda t, r: f'for f in {q(t.directory(r))}/*; do [ -f "$f" ] && cp "$f" "$f.copy"; done',
    lambda t, r: 'for f in *; do if [[ $f == *.txt ]]; then rm "$f"; fi; done',
    lambda t, r: f'mk() {{ echo x > "$1"; }}; mk {word(r)}.a; mk {word(r)}.b',
    lambda t, r: f"base={word(r)}; for e in c h; do printf '' > $base.$e; done",
    lambda t, r: f"for f in *{suffix_of(t, r)}; do sed -i 's/alpha/x/' \"$f\"; done",
    lambda t, r: (
        f"for f in $(find . -name '*{suffix_of(t, r)}' -not -path './.git/*'); do mv $f $f.done; done"
    ),
    lambda t, r: f'n=$(basename {q(t.pick(r))}); echo x > "copy-of-$n"',
    lambda t, r: 'for f in *.nothing; do rm -f "$f"; done; echo ok',
    lambda t, r: f"rm -f *.{{log,tmp}} {some(t, r)}",
)

_each(
    "directories",
    lambda t, r: f"cd {q(d := t.directory(r))} && rm -f {q((t.inside(d) or ['x'])[0])}",
    lambda t, r: f"(cd {q(t.directory(r))} && touch {word(r)}.txt) && touch {word(r)}.txt",
    lambda t, r: f"cd {q(t.directory(r))} && echo x > {word(r)}.txt && cd .. && ls",
    lambda t, r: (
        f"mkdir -p {(d := word(r))}/{(e := word(r))} && cd {d}/{e} && touch a.txt b.txt"
    ),
    lambda t, r: f"cd {gone(t, r)} && rm -rf {some(t, r)}",
    lambda t, r: f"cd {gone(t, r)}; touch {word(r)}.txt",
    lambda t, r: (
        f"pushd {q(t.directory(r))} > /dev/null; echo x > {word(r)}.txt; popd > /dev/null; touch {word(r)}.top"
    ),
    lambda t, r: (
        f'( cd {q(t.directory(r))} ; for f in *; do [ -f "$f" ] && mv "$f" "x-$f"; done )'
    ),
    lambda t, r: (
        f"cd {q(d := t.directory(r))} && cp {q((t.inside(d) or ['none.x'])[0])} ../{word(r)}.txt"
    ),
    lambda t, r: f"bash -c 'cd {t.directory(r)} && touch {word(r)}.txt'",
    lambda t, r: (
        f"mkdir {(d := word(r))}; cd {d}; echo 1 > one; mkdir two; mv one two/; cd ..; rmdir {word(r)} 2>/dev/null"
    ),
    lambda t, r: f"cd . && cat {some(t, r)} > ./{word(r)}.copy",
    lambda t, r: f'D=$(pwd); cd {q(t.directory(r))}; echo x > "$D/{word(r)}.txt"',
    lambda t, r: f"env -C {q(t.directory(r))} touch {word(r)}.txt",
    lambda t, r: (
        f"mkdir -p a/b && (cd a && (cd b && echo x > {word(r)}.txt); echo y > {word(r)}.txt)"
    ),
    lambda t, r: f"rmdir {q(t.directory(r))}",
    lambda t, r: f"cd {q(t.directory(r))} && git status || touch {word(r)}.txt",
    lambda t, r: f"rm -rf {(d := q(t.directory(r)))} && mkdir {d} && touch {d}/new.txt",
)

_each(
    "conditions",
    lambda t, r: f"false && rm {some(t, r)}",
    lambda t, r: f"true || rm {some(t, r)}",
    lambda t, r: f"[ -f {some(t, r)} ] && echo x > {fresh(t, r)}",
    lambda t, r: f"[ -f {gone(t, r)} ] && rm -rf {some(t, r)}",
    lambda t, r: f"test -e {gone(t, r)} || touch {fresh(t, r)}",
    lambda t, r: (
        f"if [ -d {q(t.directory(r))} ]; then touch {word(r)}.yes; else touch {word(r)}.no; fi"
    ),
    lambda t, r: f"grep -q alpha {some(t, r)} && echo found > {fresh(t, r)}",
    lambda t, r: f"grep -q no-such-word {some(t, r)} || echo x >> {some(t, r)}",
    lambda t, r: f"cat {gone(t, r)} && rm {some(t, r)}",
    lambda t, r: f"cat {gone(t, r)} 2>/dev/null || echo none > {fresh(t, r)}",
    lambda t, r: f"mkdir {(d := word(r))} && touch {d}/a || rm {some(t, r)}",
    lambda t, r: f"rm {gone(t, r)} && touch {word(r)}.txt",
    lambda t, r: f"rm {gone(t, r)}; touch {word(r)}.txt",
    lambda t, r: f"[[ ! -e {(n := new(t, r))} ]] && echo x > {n}",
    lambda t, r: f"! grep -q zzz {some(t, r)} && rm {some(t, r)}",
    lambda t, r: (
        f"case {t.pick(r).replace(' ', '_').replace('(', '').replace(')', '')} in *.txt) touch {word(r)}.t;; *) touch {word(r)}.o;; esac"
    ),
    lambda t, r: f"python3 -c 'import sys; sys.exit(1)' && rm {some(t, r)}",
    lambda t, r: f"python3 -c 'import sys; sys.exit(0)' && echo ok > {fresh(t, r)}",
    lambda t, r: f"set -e; cp {gone(t, r)} x.txt; rm {some(t, r)}",
    lambda t, r: "test 1 -gt 2 && touch a.x || touch b.x",
    lambda t, r: f"cp {some(t, r)} {fresh(t, r)} && echo copied || echo failed",
    lambda t, r: (
        f"if grep -q alpha {some(t, r)}; then echo yes; else echo no; rm {some(t, r)}; fi"
    ),
    lambda t, r: f"[ -s {some(t, r)} ] && mv {some(t, r)} {fresh(t, r)}",
    lambda t, r: f"cmp -s {some(t, r)} {some(t, r)} || echo differ > {word(r)}.res",
    lambda t, r: f"touch {(n := word(r))}.a && false; rm {n}.a",
    lambda t, r: f"exit 0; rm {some(t, r)}",
)

_each(
    "xargs_find",
    lambda t, r: f"find . -name '*{suffix_of(t, r)}' -not -path './.git/*' -delete",
    lambda t, r: f"find {q(t.directory(r))} -type f -exec rm {{}} \\;",
    lambda t, r: (
        f"find . -name '*{suffix_of(t, r)}' -not -path '*/.git/*' | xargs -d '\\n' sed -i 's/alpha/beta/'"
    ),
    lambda t, r: f"find . -maxdepth 1 -name '*{suffix_of(t, r)}' -print0 | xargs -0 rm -f",
    lambda t, r: "ls *.txt | xargs -I{} cp {} {}.bak",
    lambda t, r: f"echo {word(r)}.a {word(r)}.b | xargs touch",
    lambda t, r: "grep -rl alpha --include='*.txt' . | xargs -d '\\n' sed -i 's/alpha/omega/g'",
    lambda t, r: "grep -rl alpha . --exclude-dir=.git | head -2 | xargs -d '\\n' rm",
    lambda t, r: f"find {q(t.directory(r))} -type f -exec cp {{}} {{}}.orig \\;",
    lambda t, r: (
        f"find . -type f -name '*{suffix_of(t, r)}' -not -path './.git/*' -exec sed -i 's/alpha/x/' {{}} +"
    ),
    lambda t, r: "find . -type d -empty -delete",
    lambda t, r: "find . -name '*.nothing' -exec rm {} \\;",
    lambda t, r: f"printf '%s\\0' {some(t, r)} | xargs -0 rm",
    lambda t, r: (
        f"find . -maxdepth 1 -type f -name '*.txt' -exec mv {{}} {q(t.directory(r))}/ \\;"
    ),
    lambda t, r: f"seq 3 | xargs -I% touch {word(r)}%.n",
    lambda t, r: f"find . -name '*{suffix_of(t, r)}' -not -path './.git/*' | wc -l",
    lambda t, r: f'find {q(t.directory(r))} -type f | while read -r f; do mv "$f" "$f.x"; done',
    lambda t, r: f"cat > list.lst <<'E'\n{word(r)}1\n{word(r)}2\nE\nxargs touch < list.lst",
    lambda t, r: "find . \\( -name '*.log' -o -name '*.tmp' \\) -type f -delete",
    lambda t, r: "find . -type f -size +100k -delete",
    lambda t, r: f"find . -name '{t.pick(r).rpartition('/')[2]}' -exec cat {{}} \\;",
)

_each(
    "interpreters",
    lambda t, r: f"python3 -c \"open({new(t, r)!r}, 'w').write('x')\"",
    lambda t, r: f'python3 -c "import os; os.remove({t.pick(r)!r})"',
    lambda t, r: f'python3 -c "import shutil; shutil.copy({t.pick(r)!r}, {new(t, r)!r})"',
    lambda t, r: f'python3 -c "import os; os.rename({t.pick(r)!r}, {new(t, r)!r})"',
    lambda t, r: f'python3 -c "print(len(open({t.pick(r)!r}).read()))"',
    lambda t, r: (
        f"python3 - <<'EOF'\nimport re\np = {t.pick(r)!r}\ns = open(p).read()\ns = re.sub('alpha', 'beta', s)\nwith open(p, 'w') as f:\n    f.write(s)\nEOF"
    ),
    lambda t, r: (
        f"python3 <<'EOF'\nfrom pathlib import Path\nfor n in ['{word(r)}', '{word(r)}']:\n    Path(f'{{n}}.txt').write_text(n)\nEOF"
    ),
    lambda t, r: (
        f"python3 <<'EOF'\nimport json\nwith open('{(n := word(r))}.json', 'w') as f:\n    json.dump({{'a': 1}}, f)\nprint(open('{n}.json').read())\nEOF"
    ),
    lambda t, r: f"node -e \"require('fs').writeFileSync({new(t, r)!r}, 'x')\"",
    lambda t, r: f"node -e \"const fs=require('fs'); fs.unlinkSync({t.pick(r)!r})\"",
    lambda t, r: (
        f"node -e \"console.log(require('fs').readFileSync({t.pick(r)!r}, 'utf8').length)\""
    ),
    lambda t, r: f"perl -e 'unlink \"{t.pick(r)}\"'",
    lambda t, r: f'perl -e \'open(my $f, ">", "{new(t, r)}"); print $f "x";\'',
    lambda t, r: f"awk '{{print > \"{word(r)}.out\"}}' {some(t, r)}",
    lambda t, r: f"awk -F, '$2 > 3 {{print $1}}' {some(t, r)}",
    lambda t, r: "python3 -c \"import glob,os; [os.remove(p) for p in glob.glob('*.txt')]\"",
    lambda t, r: f"python3 -c \"print('rm -rf {word(r)}')\"",
    lambda t, r: (
        f"python3 -c \"import pathlib; p = pathlib.Path({t.pick(r)!r}); p.rename(p.with_suffix('.ren'))\""
    ),
    lambda t, r: f'bash -c "echo x > {word(r)}.txt"',
    lambda t, r: f"sh -c 'rm -f \"$1\"' _ {some(t, r)}",
    lambda t, r: f"eval 'touch {word(r)}.ev'",
    lambda t, r: (
        f"python3 - {q(t.pick(r))} <<'EOF'\nimport sys\nopen(sys.argv[1], 'a').write('more')\nEOF"
    ),
    lambda t, r: f'python3 -c "open({t.pick(r)!r}).read(); raise SystemExit(2)"',
    lambda t, r: (
        f"python3 -c \"import os; os.makedirs('{(d := word(r))}/x', exist_ok=True); open('{d}/x/y.txt', 'w').write('1')\""
    ),
    lambda t, r: f"{q(t.executables[0]) if t.executables else 'python3 --version'}",
    lambda t, r: f"bash {q(r.choice(t.executables)) if t.executables else '-c true'}",
    lambda t, r: (
        f"jq '.value = 9' {(n := some(t, r, '.json'))} > {(m := word(r))}.json && mv {m}.json {n}"
    ),
)

_each(
    "failing",
    lambda t, r: f"rm {gone(t, r)}",
    lambda t, r: f"cp {gone(t, r)} {fresh(t, r)}",
    lambda t, r: f"mv {gone(t, r)} {some(t, r)}",
    lambda t, r: f"rm {some(t, r)} {gone(t, r)}",
    lambda t, r: f"rm {q(t.directory(r))}",
    lambda t, r: f"cat {some(t, r)} {gone(t, r)}",
    lambda t, r: f"mkdir {q(t.directory(r))} && touch {word(r)}.txt",
    lambda t, r: f"touch {word(r)}-no/{word(r)}.txt",
    lambda t, r: f"cp {some(t, r)} {word(r)}-no/{word(r)}/",
    lambda t, r: f"mv {some(t, r)} {some(t, r)} {word(r)}-no",
    lambda t, r: f"{word(r)}cmd --write {some(t, r)}",
    lambda t, r: f"python3 -c 'raise ValueError' && touch {word(r)}.x",
    lambda t, r: f"sed -i 's/(/[/' {gone(t, r)}",
    lambda t, r: f"sed -i 's/unterminated' {some(t, r)}",
    lambda t, r: f"tar xzf {some(t, r, '.txt')}",
    lambda t, r: f"cd {gone(t, r)} && touch {word(r)}.txt && rm {some(t, r)}",
    lambda t, r: f"ln {gone(t, r)} {fresh(t, r)}",
    lambda t, r: f"rmdir {q(t.directory(r))} && touch {word(r)}.txt",
    lambda t, r: f"sort {gone(t, r)} > {fresh(t, r)}",
    lambda t, r: f"git checkout {word(r)}-branch",
    lambda t, r: f"patch -p1 < {gone(t, r)}",
    lambda t, r: f"cp {some(t, r)} {gone(t, r)}/x && rm {some(t, r)}",
    lambda t, r: f"cat {gone(t, r)} | sort > {fresh(t, r)}",
    lambda t, r: f"rm {some(t, r)} && cat {gone(t, r)}",
    lambda t, r: f"touch {(n := word(r))}.a && cp {gone(t, r)} . && rm {n}.a",
    lambda t, r: f"unzip {gone(t, r)}.zip",
    lambda t, r: f"gzip {gone(t, r)}",
)

_each(
    "no_ops",
    lambda t, r: f'echo "rm -rf {word(r)}"',
    lambda t, r: f"echo 'mv {word(r)} > {word(r)}'",
    lambda t, r: "ls -la",
    lambda t, r: f"ls {q(t.directory(r))}",
    lambda t, r: "pwd && whoami",
    lambda t, r: f"mkdir -p {word(r)}/x",
    lambda t, r: f"chmod +x {some(t, r)}",
    lambda t, r: f"touch {some(t, r)}",
    lambda t, r: "git status",
    lambda t, r: f"find . -name '*{suffix_of(t, r)}' -not -path './.git/*'",
    lambda t, r: f"# rm {some(t, r)}\ntrue",
    lambda t, r: f"rm -f {gone(t, r)}",
    lambda t, r: f"test -f {some(t, r)}",
    lambda t, r: "du -sh . | cut -f1",
    lambda t, r: "printf 'x > y\\n' | grep -c '>'",
    lambda t, r: "echo x > /dev/null 2>&1",
    lambda t, r: f"touch {(n := word(r))}.tmp && rm {n}.tmp",
    lambda t, r: f"stat {some(t, r)} > /dev/null",
    lambda t, r: "alias rm='rm -i'; type rm",
    lambda t, r: "python3 -c 'print(1 > 0)'",
    lambda t, r: f"mkdir {(d := word(r))} && rmdir {d}",
    lambda t, r: f"mv {(n := some(t, r))} {n}",
    lambda t, r: f'export X=$(date +%s); echo "$X > {word(r)}"',
    lambda t, r: "which python3; command -v node",
)

_each(
    "reads",
    lambda t, r: f"cat {some(t, r)}",
    lambda t, r: f"head -n 3 {some(t, r)}; tail -n 2 {some(t, r)}",
    lambda t, r: f"grep -n alpha {some(t, r)}",
    lambda t, r: f"grep -rn alpha {q(t.directory(r))}",
    lambda t, r: f"wc -l {some(t, r)} {some(t, r)}",
    lambda t, r: f"sed -n '1,3p' {some(t, r)}",
    lambda t, r: f"awk 'NR<3' {some(t, r)}",
    lambda t, r: f"diff {some(t, r)} {some(t, r)}",
    lambda t, r: f"md5sum {some(t, r)} | cut -c1-8",
    lambda t, r: f"nl -ba {some(t, r)} | sed -n '1,5p'",
    lambda t, r: f"cat {some(t, r)} | grep alpha | sort | uniq -c",
    lambda t, r: f'while read -r l; do echo "$l"; done < {some(t, r)}',
    lambda t, r: f"cat *{suffix_of(t, r)} | wc -c",
    lambda t, r: f"xxd {some(t, r)} | head -2",
    lambda t, r: f"x=$(cat {some(t, r)}); echo ${{#x}}",
    lambda t, r: f"cd {q(d := t.directory(r))} && cat {q((t.inside(d) or ['x'])[-1])}",
    lambda t, r: f"grep -c alpha *{suffix_of(t, r)}",
    lambda t, r: f"cmp {some(t, r)} {some(t, r)}",
    lambda t, r: f"cat {some(t, r)}; echo ---; cat {gone(t, r)}",
    lambda t, r: f"source {some(t, r, '.sh') if t.executables else '/dev/null'}; echo $alpha",
)  # fmt: skip


def generate(trees: list[Tree], count: int, rng: random.Random) -> list[tuple[Tree, str, str]]:
    """`count` commands as (tree, stratum, command), spread evenly over strata and trees."""
    out: list[tuple[Tree, str, str]] = []
    names = sorted(STRATA)
    turns: dict[str, list[Maker]] = {name: [] for name in names}
    for number in range(count):
        name = names[number % len(names)]
        if not turns[name]:
            turns[name] = rng.sample(STRATA[name], len(STRATA[name]))
        maker = turns[name].pop()
        fitting = trees
        if name == "git":
            fitting = [tree for tree in trees if tree.git]
        elif name == "archives" and rng.random() < 0.5:
            fitting = [tree for tree in trees if tree.archives]
        tree = rng.choice(fitting)
        out.append((tree, name, maker(tree, rng)))
    return out
