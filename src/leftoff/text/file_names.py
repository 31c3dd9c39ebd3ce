"""Whether a name is one plain path component, of an ordinary file, on every system."""

from leftoff import lazy_re as re

# Device names on Windows, with any extension, and characters that no file name there may hold:
# a colon, for example, would write to an alternate data stream of another file.
_DEVICE = re.compile(
    r"(?i)(?:con|prn|aux|nul|(?:conin|conout|clock)\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?"
)
_PATH_CHARACTERS = re.compile(r"[/\\\x00-\x1f\x7f-\x9f]")
_WINDOWS_CHARACTERS = re.compile(r'[<>:"|?*]')


def why_not_plain(name: str, most: int) -> str:
    """Why a name is none, or has more than `most` bytes in UTF-8; "" where it is one."""
    if not name:
        return "it is empty"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "it is no valid Unicode"
    if size > most:
        return f"it has {size} bytes, more than {most}"
    if _PATH_CHARACTERS.search(name):
        return "it holds a slash, a backslash or a control character"
    if _WINDOWS_CHARACTERS.search(name):
        return 'it holds one of < > : " | ? *, which no name on Windows may'
    if name.startswith("."):
        return "it begins with a dot"
    if name[-1] in ". ":
        return "it ends with a dot or a space"
    if _DEVICE.fullmatch(name):
        return "it is the name of a device"
    return ""
