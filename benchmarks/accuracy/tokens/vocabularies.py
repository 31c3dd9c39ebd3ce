"""Public tokenizers whose vocabularies install from PyPI, loaded without a network.

Needs an environment of its own with ``litellm``, ``dashscope``, ``llama-models``,
``mistral-common`` and ``ai21-tokenizer`` (each installed without its dependencies),
``tiktoken``, ``tokenizers`` and ``sentencepiece``. Nothing of it is needed to use leftoff.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

Counter = Callable[[list[str]], list[int]]

# Our family names, and the vocabulary that stands for each.
FAMILIES = {
    "claude": "Claude 2 era, bundled with litellm (the last that was published)",
    "cl100k": "OpenAI cl100k_base, bundled with litellm",
    "deepseek": "DeepSeek, bundled with litellm",
    "llama3": "Llama 3, bundled with llama-models",
    "llama4": "Llama 4, bundled with llama-models",
    "mistral": "Mistral tekken 240911, bundled with mistral-common",
    "o200k": "OpenAI o200k_base, bundled with litellm",
    "qwen": "Qwen, bundled with dashscope",
}


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"install {name} first; see the top of vocabularies.py")
    return Path(spec.origin).parent


def _ranks(path: Path) -> dict[bytes, int]:
    pairs = (line.split() for line in path.read_bytes().splitlines() if line.strip())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _pattern(path: Path, regex: str) -> str:
    match = re.search(regex, path.read_text(encoding="utf-8"), re.DOTALL)
    if match is None:
        raise SystemExit(f"{path} no longer holds its split pattern where it did")
    return match.group(1)


def load(*, older: bool = False) -> dict[str, Counter]:
    """Gives a function for each family that counts the tokens of each text of a list.

    Args:
        older: Also gives vocabularies that the upper bound does not cover: ``p50k``,
            ``mistral_v3`` (SentencePiece) and ``j2``.
    """
    bundled = _package("litellm") / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(bundled)
    import tiktoken
    from tokenizers import Tokenizer

    def of_tiktoken(encoding: tiktoken.Encoding) -> Counter:
        def count(texts: list[str]) -> list[int]:
            return [len(ids) for ids in encoding.encode_ordinary_batch(texts, num_threads=1)]

        return count

    def of_tokenizer(path: Path) -> Counter:
        tokenizer = Tokenizer.from_file(str(path))

        def count(texts: list[str]) -> list[int]:
            encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
            return [len(one) for one in encoded]

        return count

    def of_ranks(name: str, pattern: str, ranks: dict[bytes, int]) -> Counter:
        return of_tiktoken(
            tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        )

    qwen, llama = _package("dashscope"), _package("llama_models")
    tekken = json.loads(
        (_package("mistral_common") / "data" / "tekken_240911.json").read_bytes()
    )
    config = tekken["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    counters = {
        "claude": of_tokenizer(bundled / "anthropic_tokenizer.json"),
        "cl100k": of_tiktoken(tiktoken.get_encoding("cl100k_base")),
        "deepseek": of_tokenizer(bundled / "deepseek_tokenizer.json"),
        "llama3": of_ranks(
            "llama3",
            _pattern(llama / "llama3" / "tokenizer.py", r'pat_str = r"(.*?)"  #'),
            _ranks(llama / "llama3" / "tokenizer.model"),
        ),
        "llama4": of_ranks(
            "llama4",
            _pattern(llama / "llama4" / "tokenizer.py", r'O200K_PATTERN = r"""(.*?)"""'),
            _ranks(llama / "llama4" / "tokenizer.model"),
        ),
        "mistral": of_ranks(
            "mistral",
            config["pattern"],
            {
                base64.b64decode(one["token_bytes"]): one["rank"]
                for one in tekken["vocab"][:size]
            },
        ),
        "o200k": of_tiktoken(tiktoken.get_encoding("o200k_base")),
        "qwen": of_ranks(
            "qwen",
            _pattern(qwen / "tokenizers" / "qwen_tokenizer.py", r'PAT_STR = r?"""(.*?)"""'),
            _ranks(qwen / "resources" / "qwen.tiktoken"),
        ),
    }
    if older:
        import sentencepiece

        def of_pieces(path: Path) -> Counter:
            pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))

            def count(texts: list[str]) -> list[int]:
                return [len(ids) for ids in pieces.encode(texts, num_threads=1)]

            return count

        counters["p50k"] = of_tiktoken(tiktoken.get_encoding("p50k_base"))
        counters["mistral_v3"] = of_pieces(
            _package("mistral_common") / "data" / "mistral_instruct_tokenizer_240323.model.v3"
        )
        counters["j2"] = of_pieces(
            _package("ai21_tokenizer") / "resources" / "j2-tokenizer" / "j2-tokenizer.model"
        )
    return counters


def word_candidates() -> list[str]:
    """Gives the ASCII words that the two largest public vocabularies hold, the oldest first."""
    import tiktoken

    ranked: dict[str, int] = {}
    for name in ("o200k_base", "cl100k_base"):
        for token, rank in tiktoken.get_encoding(name)._mergeable_ranks.items():
            match = re.fullmatch(rb" ?([A-Z]?[a-z]+|[A-Z]+)", token)
            if match and len(match.group(1)) > 1:
                word = match.group(1).decode()
                ranked[word] = min(ranked.get(word, rank), rank)
    return sorted(ranked, key=lambda word: (ranked[word], word))
