"""Spellings that hide a secret from a pattern: escapes, percent codes, entities of HTML,
invisible characters, look-alike letters. `reveal` undoes them, `revealed` a whole text.

What a reader does not see at all (terminal codes, control characters) is removed by the views
of `leftoff.text.sanitize`, which `clean` shares; here is what else stands for such a character:
its escape in JSON or in a program, its percent code, its entity."""

from collections.abc import Callable
from functools import cache
from typing import Final

from leftoff import lazy_re as re
from leftoff.text.sanitize import INVISIBLE, LOOK_ALIKES, UNSAFE, View, without

_LATIN: Final = dict(zip(LOOK_ALIKES, "ABEKMHOPCTXaeopcyxsijdhABEZHIKMNOPTYXoKs", strict=True))
_UNSEEN = re.compile(f"[{INVISIBLE}]|{UNSAFE.pattern}")

_BEL: Final = r"(?:\x07|\\+(?:u0007|x07|007|a))"
_SEQUENCE: Final = (
    # What follows an escape character that is spelt out: `clean` removes the same after a real
    # one. A payload that is not closed ends with its string.
    r"(?:\[[0-?]*+[ -/]*+[@-~]?"
    rf"|\][^\\\x07\x1b\"\n]*+(?:{_BEL}|\\+(?:u001[bB]|x1[bB]|033|e)\\+)?)?"
)
_ENTITIES: Final = (
    "amp|quot|apos|lt|gt|nbsp|shy|zwj|zwnj|lrm|rlm|ZeroWidthSpace|NoBreak|equals|colon|sol|bsol"
    "|lowbar|UnderBar|period|commat|num|excl|plus|dollar|percnt|ast|hyphen|dash|quest|semi"
    "|NewLine|Tab"
)
_HEX: Final = "[0-9a-fA-F]"
_OTHERS: Final = f"{INVISIBLE}\uff01-\uff5e{LOOK_ALIKES}"
# It begins with a class, by which `re` finds the next place fast; a run of backslashes is
# taken whole, so that the time is linear.
DISGUISE = re.compile(
    rf"[\\%&\x1b{_OTHERS}](?:"
    # The end of a line that goes on: in a string of JSON, in one within such a string, as it
    # is, and after white space was folded.
    r"(?<!\\\\)(?<=\\)(?=[\\ux0e/\r\n \tbfrv])(?:(?:\\{2}|\\{5})n[ \t]*"
    rf"|\\*+(?:(?:u001[bB]|u\{{1[bB]\}}|x1[bB]|033|e(?=\[)){_SEQUENCE}"
    rf"|u[dD][bB]4[0-3]\\+u[dD][c-fC-F]{_HEX}{{2}}|u(?:{_HEX}{{4}}|\{{{_HEX}{{1,5}}\}})"
    rf"|x(?:[01]{_HEX}|7[fF]|[89]{_HEX})|/|(?<=[A-Za-z0-9]\\)[bfrv](?=[A-Za-z0-9])"
    r"|(?:\r?\n[+-]?|(?=[ \t]))[ \t]*))"
    rf"|(?<=%)(?:25){{0,3}}(?:1[bB]{_SEQUENCE}|[2-7]{_HEX}|00|[cC]2%(?:25){{0,3}}[aA][dD]"
    r"|[eE]2%(?:25){0,3}8(?:0%(?:25){0,3}(?:8[b-fB-F]|[aA][a-eA-E])"
    rf"|1%(?:25){{0,3}}[aA]{_HEX})|[eE][fF]%(?:25){{0,3}}[bB][bB]%(?:25){{0,3}}[bB][fF])"
    rf"|(?<=&)(?:#(?:27|[xX]1[bB]);{_SEQUENCE}|#[xX]{_HEX}{{1,6}};|#[0-9]{{1,7}};"
    rf"|(?:{_ENTITIES});)"
    rf"|(?<=\x1b){_SEQUENCE}"
    rf"|(?<=[{_OTHERS}]))"
)
_CODES: Final = (
    "00..|034f|061c|115f|1160|17b[45]|180[b-f]|20[0246].|3164|fe0.|feff|ff[0-5].|fff[9-b]"
    r"|d82f|d834|db4.|\{|" + "|".join(f"{ord(letter):04x}" for letter in _LATIN)
)
_SPELT = (
    rf"\\u(?i:{_CODES})"
    r"|\\(?:x[0189]|x7[fF]|033|e\[|/|\r?\n|\\\\n|[ \t][A-Za-z0-9-])"
    r"|[A-Za-z0-9]\\[bfrv][A-Za-z0-9]"
    r"|%(?:25){0,3}(?:[2-7][0-9a-fA-F]|00|1[bB]|[cC]2%|[eE]2%|[eE][fF]%)|&#[0-9xX]"
    rf"|&(?:{_ENTITIES});"
)
_CODE = re.compile(r"\\+(?:u\{?([0-9a-fA-F]{1,5})\}?|x([0-9a-fA-F]{2}))")
_PERCENT = re.compile(r"%(?:25)*([0-9a-fA-F]{2})")
_NUMBER = re.compile(r"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));")


@cache
def _spelt() -> Callable[[bytes], list[int] | None]:
    return re.automaton([_SPELT], latin1=True)


@cache
def _look_alikes() -> Callable[[bytes], list[int] | None]:
    return re.automaton([f"[{INVISIBLE}\uff01-\uff5e{LOOK_ALIKES}]"])


def disguised(text: str, raw: bytes | None = None) -> bool:
    """Whether the text contains a spelling that `reveal` would undo; `raw`: the text in ASCII,
    with `?` for all else, if it is known."""
    if not text.isascii() and _look_alikes()(text.encode("utf-8", "surrogatepass")):
        return True
    if "\\" in text or "%" in text or "&" in text:
        return bool(_spelt()(text.encode("ascii", "replace") if raw is None else raw))
    return False


def reveal(match: re.Match[str]) -> str:
    """The character that a match of `DISGUISE` stands for; "" for an invisible one."""
    found = match.group()
    first = found[0]
    if first == "\x1b":
        return ""
    if first == "\\":
        if found[-1] == "/":
            return "/"
        if found[-2:] in {"\n+", "\n-"} and not _in_diff(match):
            return found[-1]
        code = _CODE.fullmatch(found)
        # Otherwise a sequence, the end of a line, or a character of two halves.
        return _visible(code[1] or code[2]) if code is not None else ""
    if first == "%":
        percent = _PERCENT.fullmatch(found)
        return _visible(percent[1]) if percent is not None else ""
    if first == "&":
        if found[1] == "#":
            number = _NUMBER.fullmatch(found)
            if number is None:
                return ""  # the head of a sequence
            return _visible(number[1] or f"{int(number[2]):x}")
        from html.entities import html5  # 2,000 names, which hardly a recording needs

        letter = html5[found[1:]]
        return "" if _UNSEEN.match(letter) else letter
    if "\uff01" <= first <= "\uff5e":
        return chr(ord(first) - 0xFEE0)
    return _LATIN.get(first, "")


def _in_diff(match: re.Match[str]) -> bool:
    """Whether the mark at the end of a match is that of a changed line: the line before it has
    the same. Else it is a character of what goes on there."""
    begin = match.string.rfind("\n", 0, match.start()) + 1
    return match.string[begin] == match.group()[-1]


def _visible(code: str) -> str:
    """The character of a hexadecimal code as a reader sees it."""
    number = int(code, 16) if len(code) <= 6 and code.isalnum() else 0x110000
    if number > 0x10FFFF:
        return ""
    letter = chr(number)
    if _UNSEEN.match(letter):
        return ""
    if "\uff01" <= letter <= "\uff5e":
        return chr(number - 0xFEE0)
    return _LATIN.get(letter, letter)


def revealed(text: str) -> View:
    """The text as a reader sees it, with the place of every character."""
    return without(text, [(*match.span(), reveal(match)) for match in DISGUISE.finditer(text)])
