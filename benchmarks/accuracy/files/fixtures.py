"""Small source trees with fresh random names, to run commands in."""

from __future__ import annotations

import io
import random
import tarfile
import zipfile
from dataclasses import dataclass, field

_HEADS = (
    "ba be bo bra da de dro fa fe flo ga gri ha jo ka ke kri la le lo ma me mo na ne no".split()
)
_TAILS = (
    "bel con dar den fin gan kel lan mer min nor pas ral ren sol tan tor val ven zim".split()
)


@dataclass
class Tree:
    """One fixture: its files, and what a command writer needs to know of them."""

    name: str
    files: dict[str, bytes]
    git: bool = False
    dirty: list[str] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    archives: list[str] = field(default_factory=list)
    executables: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def pick(self, rng: random.Random, suffix: str = "", *, top: bool = False) -> str:
        """A file with this suffix (any text file where there is none)."""
        names = sorted(self.files)
        if top:
            names = [name for name in names if "/" not in name] or names
        found = [name for name in names if name.endswith(suffix)] if suffix else names
        plain = [name for name in found or names if name not in self.archives]
        return rng.choice(plain or names)

    def directory(self, rng: random.Random) -> str:
        found = self.directories()
        return rng.choice(found)

    def directories(self) -> list[str]:
        found = {name.rpartition("/")[0] for name in self.files if "/" in name}
        return sorted({part for name in found for part in _prefixes(name)})

    def inside(self, directory: str) -> list[str]:
        start = directory + "/"
        return sorted(
            name[len(start) :]
            for name in self.files
            if name.startswith(start) and "/" not in name[len(start) :]
        )


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def word(rng: random.Random) -> str:
    """A name that no list of commands can hold."""
    return rng.choice(_HEADS) + rng.choice(_TAILS) + rng.choice(("", rng.choice(_TAILS)))


def words(rng: random.Random, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        new = word(rng)
        if new not in found:
            found.append(new)
    return found


def text(rng: random.Random, lines: int = 6) -> bytes:
    """Lines of words; each holds ``alpha`` and ``value = N`` often enough to be replaced."""
    out = ["alpha first line", f"value = {rng.randrange(100)}"]
    out += [" ".join(words(rng, rng.randrange(2, 6))) for _ in range(lines)]
    out.append("alpha again")
    return ("\n".join(out) + "\n").encode()


def python(rng: random.Random) -> bytes:
    name = word(rng)
    return (
        f"import os\n\nalpha = {rng.randrange(50)}\nvalue = 3\n\n\n"
        f"def {name}(x):\n    return x + alpha\n"
    ).encode()


def _package(rng: random.Random) -> Tree:
    package, *names = words(rng, 8)
    files = {f"{package}/__init__.py": b""}
    files |= {f"{package}/{name}.py": python(rng) for name in names[:4]}
    files |= {f"tests/test_{name}.py": python(rng) for name in names[:2]}
    files |= {"README.md": text(rng), "pyproject.toml": b'[project]\nname = "x"\n'}
    files[f"docs/{names[5]}.md"] = text(rng)
    return Tree("package", files, git=True)


def _web(rng: random.Random) -> Tree:
    names = words(rng, 7)
    files = {
        f"src/{name}.js": b"const alpha = 1;\nmodule.exports = alpha;\n" for name in names[:3]
    }
    files |= {f"src/components/{name}.jsx": text(rng) for name in names[3:5]}
    files |= {"package.json": b'{"name": "x", "value": 3}\n', "index.html": text(rng)}
    files |= {f"styles/{names[5]}.css": text(rng), ".eslintrc.json": b"{}\n"}
    return Tree("web", files, git=rng.random() < 0.5)


def _sources(rng: random.Random) -> Tree:
    names = words(rng, 6)
    files = {f"{name}.c": f"int {name}(void) {{ return 3; }}\n".encode() for name in names[:3]}
    files |= {f"include/{name}.h": text(rng) for name in names[:3]}
    files |= {f"build/{name}.o": rng.randbytes(60) for name in names[:3]}
    files["Makefile"] = f"all:\n\tcat {names[0]}.c > build/out.txt\n".encode()
    return Tree("sources", files)


def _notes(rng: random.Random) -> Tree:
    files = {f"{name}.md": text(rng) for name in words(rng, 4)}
    files |= {f"drafts/{name}.md": text(rng) for name in words(rng, 3)}
    files |= {f"drafts/old/{name}.txt": text(rng) for name in words(rng, 2)}
    return Tree("notes", files, git=True, empty=["archive"])


def _logs(rng: random.Random) -> Tree:
    files = {f"logs/{name}.log": text(rng, 12) for name in words(rng, 5)}
    files |= {f"logs/{name}.log.1": text(rng) for name in words(rng, 2)}
    files |= {f"{word(rng)}.conf": text(rng), f"{word(rng)}.txt": text(rng), ".hidden": b"x\n"}
    return Tree("logs", files)


def _tables(rng: random.Random) -> Tree:
    def table() -> bytes:
        rows = [f"{word(rng)},{rng.randrange(99)},{word(rng)}" for _ in range(8)]
        return ("name,value,alpha\n" + "\n".join(rows) + "\n").encode()

    files = {f"data/{name}.csv": table() for name in words(rng, 4)}
    files |= {f"data/raw/{name}.csv": table() for name in words(rng, 2)}
    files |= {f"{name}.json": b'{"value": 3, "alpha": [1, 2]}\n' for name in words(rng, 2)}
    files[f"{word(rng)}.txt"] = text(rng)
    return Tree("tables", files)


def _deep(rng: random.Random) -> Tree:
    a, b, c, d = words(rng, 4)
    files = {f"{a}/{b}/{c}/{name}.txt": text(rng) for name in words(rng, 3)}
    files |= {f"{a}/{b}/{name}.cfg": text(rng) for name in words(rng, 2)}
    files |= {f"{d}/{name}.txt": text(rng) for name in words(rng, 2)}
    files |= {f"{name}.txt": text(rng) for name in words(rng, 2)}
    return Tree("deep", files, empty=[f"{d}/empty"])


def _spaced(rng: random.Random) -> Tree:
    a, b = words(rng, 2)
    files = {f"{a} {b}.txt": text(rng), f"{b} (1).md": text(rng)}
    files |= {f"my files/{name}.txt": text(rng) for name in words(rng, 3)}
    files |= {f"{name}.txt": text(rng) for name in words(rng, 2)}
    files[f"{a}-{b}_v2.txt"] = text(rng)
    return Tree("spaced", files)


def _scripts(rng: random.Random) -> Tree:
    names = words(rng, 4)
    files = {
        f"bin/{names[0]}.sh": f"#!/bin/bash\necho done > {names[1]}.out\n".encode(),
        f"bin/{names[1]}.sh": b"#!/bin/bash\necho hello\n",
        f"lib/{names[2]}.sh": b"alpha=3\n",
        f"{names[3]}.py": f"open('{names[0]}.gen', 'w').write('x')\n".encode(),
    }
    executables = [f"bin/{names[0]}.sh", f"bin/{names[1]}.sh"]
    files |= {f"{name}.txt": text(rng) for name in words(rng, 2)}
    return Tree("scripts", files, executables=executables)


def _archives(rng: random.Random) -> Tree:
    names = words(rng, 6)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names[:2]:
            data = text(rng)
            info = tarfile.TarInfo(f"{names[4]}/{name}.txt")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names[2:4]:
            archive.writestr(f"{name}.txt", text(rng))
    files = {f"{names[4]}.tgz": buffer.getvalue(), f"{names[5]}.zip": packed.getvalue()}
    files |= {f"{name}.txt": text(rng) for name in words(rng, 3)}
    files |= {f"assets/{name}.dat": rng.randbytes(80) for name in words(rng, 2)}
    return Tree("archives", files, archives=[f"{names[4]}.tgz", f"{names[5]}.zip"])


def _dirty(rng: random.Random) -> Tree:
    files = {f"{name}.py": python(rng) for name in words(rng, 3)}
    files |= {f"pkg/{name}.py": python(rng) for name in words(rng, 3)}
    files |= {f"{word(rng)}.md": text(rng), f"{word(rng)}.txt": text(rng)}
    names = sorted(files)
    dirty = rng.sample(names, 2)
    untracked = [f"{word(rng)}.tmp", f"pkg/{word(rng)}.tmp"]
    files |= {name: text(rng) for name in untracked}
    return Tree("dirty", files, git=True, dirty=dirty, untracked=untracked)


def _settings(rng: random.Random) -> Tree:
    files = {f"config/{name}.yml": b"alpha: 1\nvalue: 3\n" for name in words(rng, 3)}
    files |= {f"config/{name}.ini": b"[alpha]\nvalue = 3\n" for name in words(rng, 2)}
    files |= {".env": b"VALUE=3\n", ".env.example": b"VALUE=\n", "Dockerfile": b"FROM x\n"}
    files |= {f"secrets/{word(rng)}.key": b"alpha\n", f"{word(rng)}.txt": text(rng)}
    return Tree("settings", files, git=rng.random() < 0.5)


def _flat(rng: random.Random) -> Tree:
    files = {
        f"{name}{rng.choice(('.txt', '.md', '.log', ''))}": text(rng) for name in words(rng, 9)
    }
    files[f"{word(rng)}.txt"] = text(rng)
    files |= {f"keep/{word(rng)}.txt": text(rng)}
    return Tree("flat", files)


def _locales(rng: random.Random) -> Tree:
    names = words(rng, 3)
    files = {
        f"locale/{tag}/{name}.po": text(rng)
        for tag in ("de", "fr", "pt_BR")
        for name in names[:2]
    }
    files |= {f"media/{name}.png": rng.randbytes(90) for name in words(rng, 2)}
    files[f"{word(rng)}.txt"] = text(rng)
    return Tree("locales", files)


MAKERS = (
    _package, _web, _sources, _notes, _logs, _tables, _deep, _spaced, _scripts, _archives,
    _dirty, _settings, _flat, _locales,
)  # fmt: skip


def trees(rng: random.Random) -> list[Tree]:
    """One tree of each kind, with names from `rng`."""
    return [maker(rng) for maker in MAKERS]
