"""Checks that no tokenizer exceeds `leftoff.tokens.max_tokens`, and how far above them it is.

    python -m benchmarks.accuracy.tokens.check generated [COUNT] [SEED]
    python -m benchmarks.accuracy.tokens.check corpus CORPUS

The first makes COUNT strings (1,000,000 unless told) of many kinds; the second reads every text
of a corpus. Both end with status 1 if the bound was exceeded once. Only numbers are printed,
and the generated strings that exceeded it.
"""

from __future__ import annotations

import base64
import random
import string
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.accuracy.tokens.messages import samples
from benchmarks.accuracy.tokens.vocabularies import load

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "src"))

from leftoff import tokens

_SCRIPTS = [
    (0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80),
    (0x1E00, 0x2000), (0x2000, 0x2C00), (0x3000, 0x3400), (0x4E00, 0xA000), (0xAC00, 0xD7A4),
    (0xF900, 0xFFFE), (0x1D400, 0x1D800), (0x1F000, 0x1FB00), (0xE0000, 0xE0080),
]  # fmt: skip
_PARTS = ["src", "lib", "tests", "app", "core", "api", "cmd", "internal", "docs", "utils"]
_ENDS = [".py", ".ts", ".go", ".rs", ".json", ".md", ".test.tsx", "", ".c", ".yaml"]


def _kinds() -> dict[str, Callable[[random.Random], str]]:
    words = sorted(tokens._data().known)
    shapes: list[Callable[[str], str]] = [str.lower, str.title, str.upper, str]
    signs = string.punctuation

    def one(rng: random.Random, first: int, after: int) -> str:
        code = rng.randrange(first, after)
        return chr(code) if not 0xD800 <= code < 0xE000 else "x"

    def unicode(rng: random.Random) -> str:
        return "".join(one(rng, *rng.choice(_SCRIPTS)) for _ in range(rng.randint(1, 24)))

    def script(rng: random.Random) -> str:
        span = rng.choice(_SCRIPTS)
        return "".join(
            " " if rng.random() < 0.1 else one(rng, *span) for _ in range(rng.randint(1, 40))
        )

    def letters(rng: random.Random) -> str:
        pool = rng.choice(
            [string.ascii_lowercase, string.ascii_uppercase, string.ascii_letters]
        )
        return rng.choice(["", " ", "_", "("]) + "".join(
            rng.choices(pool, k=rng.randint(1, 24))
        )

    def camel(rng: random.Random) -> str:
        chosen = rng.choices(words, k=rng.randint(2, 5))
        return rng.choice(["", " ", "."]) + "".join(rng.choice(shapes)(word) for word in chosen)

    def sentence(rng: random.Random) -> str:
        return "".join(
            word
            + rng.choice(
                [" ", " ", " ", ", ", ". ", "\n", ": ", " - ", "'s ", "n't ", "(", '"']
            )
            for word in rng.choices(words, k=rng.randint(1, 20))
        )

    def joined(rng: random.Random) -> str:
        return "".join(
            rng.choice(words) + "".join(rng.choices(signs, k=rng.choice([1, 1, 1, 2, 3])))
            for _ in range(rng.randint(1, 12))
        )

    def runs(rng: random.Random) -> str:
        return "".join(
            rng.choice(["", " ", "a", "é", "\n", "1"])
            + "".join(rng.choices(signs, k=rng.randint(1, 8)))
            for _ in range(rng.randint(1, 6))
        )

    def repeated(rng: random.Random) -> str:
        return "".join(
            rng.choice(signs + " \t\n\ra0é中") * rng.choice([1, 2, 3, 5, 9, 17, 40, 81, 150])
            for _ in range(rng.randint(1, 5))
        )

    def spaces(rng: random.Random) -> str:
        pool = rng.choice(
            [
                " ",
                " \n",
                "\t",
                "\t ",
                " \t\n\r",
                "\n",
                "\r\n",
                " \u00a0\u3000\u2028\x0b\x0c\x85",
            ]
        )
        return "".join(
            "".join(rng.choices(pool, k=rng.randint(1, 30)))
            + rng.choice(["", "x", "if", "1", "}"])
            for _ in range(rng.randint(1, 5))
        )

    def code(rng: random.Random) -> str:
        name = "_".join(rng.choices(words, k=rng.randint(1, 3)))
        call = (
            rng.choice(words) + rng.choice([".", "::", "->", "?."]) + rng.choice(words).lower()
        )
        indent = rng.choice(["", "    ", "\t", "  ", "        "])
        return (
            f"{indent}{name} = {call}({rng.randint(0, 99999)}, {rng.choice(words)!r})"
            f"{rng.choice(['', ';', ' {', ':', ' # ' + rng.choice(words)])}\n"
            f"{indent}return {name}[{rng.randint(0, 9)}]\n"
        )

    def path(rng: random.Random) -> str:
        parts = rng.choices(_PARTS + words, k=rng.randint(1, 6))
        return rng.choice(["", "/", "./", "~/", "C:\\"]) + "/".join(parts) + rng.choice(_ENDS)

    def encoded(rng: random.Random) -> str:
        data = rng.randbytes(rng.randint(1, 48))
        return rng.choice(
            [base64.b64encode(data).decode(), data.hex(), data.hex("-"), str(data)]
        )

    def digits(rng: random.Random) -> str:
        return "".join(
            str(rng.randrange(10 ** rng.randint(1, 12))) + rng.choice(".,:-/ \n%T_x")
            for _ in range(rng.randint(1, 8))
        )

    return {
        "unicode": unicode, "script": script, "letters": letters, "camel": camel,
        "sentence": sentence, "joined": joined, "runs": runs, "repeated": repeated,
        "spaces": spaces, "code": code, "path": path, "encoded": encoded, "digits": digits,
    }  # fmt: skip


def generated(count: int, seed: int) -> bool:
    """Checks strings made by chance; says whether the bound held."""
    counters = load()
    kinds = _kinds()
    rng = random.Random(seed)
    names = sorted(kinds)
    exceeded: Counter[str] = Counter()
    bounds: Counter[str] = Counter()
    highest: Counter[str] = Counter()
    done = 0
    while done < count:
        size = min(20_000, count - done)
        chosen = [names[rng.randrange(len(names))] for _ in range(size)]
        texts = [kinds[name](rng) for name in chosen]
        most = [tokens.max_tokens(text) for text in texts]
        true = [
            max(counts)
            for counts in zip(*(counter(texts) for counter in counters.values()), strict=False)
        ]
        for name, text, bound, real in zip(chosen, texts, most, true, strict=True):
            bounds[name] += bound
            highest[name] += real
            if real > bound:
                exceeded[name] += 1
                if exceeded[name] <= 5:
                    print(f"  exceeded: {name} {text!r}: {real} > {bound}", flush=True)
        done += size
    for name in names:
        print(
            f"{name:10} bound/highest {bounds[name] / highest[name]:.2f}"
            f"  exceeded {exceeded[name]}"
        )
    print(f"{count} strings, seed {seed}: exceeded {exceeded.total()} times")
    return not exceeded


def corpus(directory: Path) -> bool:
    """Checks every text of a corpus; says whether the bound held."""
    counters = load(older=True)
    found = samples(directory, longest=200_000)
    covered = [name for name in counters if name in tokens.FAMILIES]
    exceeded: Counter[str] = Counter()
    sums: dict[str, Counter[str]] = {}
    for start in range(0, len(found), 500):
        part = found[start : start + 500]
        texts = [sample.text.encode("utf-8", "replace").decode() for sample in part]
        true = {name: counter(texts) for name, counter in counters.items()}
        for index, (sample, text) in enumerate(zip(part, texts, strict=True)):
            bound = tokens.max_tokens(text)
            total = sums.setdefault(sample.role, Counter())
            total["bound"] += bound
            total["highest"] += max(true[name][index] for name in covered)
            for name in counters:
                total[name] += true[name][index]
                exceeded[name] += true[name][index] > bound
    for role, total in sorted(sums.items()):
        ratios = " ".join(
            f"{name} {total['bound'] / total[name]:.2f}" for name in ["highest", *counters]
        )
        print(f"{role:10} bound/true: {ratios}")
    print(f"{len(found)} texts; exceeded:", dict(exceeded))
    return not any(exceeded[name] for name in covered)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[2:] if argument.isdigit()]
    if sys.argv[1] == "generated":
        count, seed = (numbers + [1_000_000, 1][len(numbers) :])[:2]
        held = generated(count, seed)
    else:
        held = corpus(Path(sys.argv[2]))
    raise SystemExit(0 if held else 1)
