"""Text that others wrote, made inert for the place where it is shown.

Queries, tags, ids, titles, reviews and error messages are hostile until they went through the function of their context. HTML is
left to the template engine's autoescape; everything else is here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

ELLIPSIS = "…"

# Blank although Unicode calls them letters or marks: a name made of them would look empty or equal to another.
_BLANK = dict.fromkeys(map(ord, "\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5"))
_MARKS_IN_A_ROW = 4


def clean(text: str, limit: int | None = None) -> str:
    """One line of visible text: no control, bidi or zero-width characters, white space collapsed, at most ``limit`` long."""
    if limit is not None and len(text) > 16 * limit + 256:
        text = text[:16 * limit + 256]
    if not (text.isascii() and text.isprintable()):
        text = "".join(_visible(text.translate(_BLANK)))
    text = " ".join(text.split())
    return text if limit is None or len(text) <= limit else text[:max(limit - 1, 0)].rstrip() + ELLIPSIS


def visible_lines(text: str, width: int) -> list[str]:
    """Several lines of visible text that keep their indentation, each at most ``width`` long; none empty at either end."""
    lines = ["".join(_visible(line[:4 * width].expandtabs(4).translate(_BLANK))).rstrip() for line in text.splitlines()]
    return [line if len(line) <= width else line[:width - 1] + ELLIPSIS for line in "\n".join(lines).strip("\n").split("\n")]


# Zero-width joiners belong to the spelling of Persian and Indic words and to many emoji; between other letters they only hide.
_JOINERS = "\u200c\u200d"
_JOINED = re.compile("[\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff]")


def _joins(before: str, after: str) -> bool:
    """Whether a joiner between these two characters can be seen."""
    pictures = unicodedata.category(after) == "So" and (unicodedata.category(before) in ("So", "Sk") or before == "\ufe0f")
    return pictures or bool(_JOINED.match(before) and _JOINED.match(after) and unicodedata.category(after)[0] == "L")


def _visible(text: str) -> list[str]:
    out: list[str] = []
    marks = 0
    for at, char in enumerate(text):
        if char in _JOINERS and out and at + 1 < len(text) and _joins(out[-1], text[at + 1]):
            out.append(char)
            continue
        kind = unicodedata.category(char)
        marks = marks + 1 if kind[0] == "M" else 0
        if char.isspace():
            out.append(" ")
        elif kind in ("Cs", "Cn", "Co"):
            out.append("\ufffd")
        elif kind not in ("Cc", "Cf") and marks <= _MARKS_IN_A_ROW:
            out.append(char)
    return out


# --- Markdown as GitHub reads it -------------------------------------------------------------------------------------

# What GitHub turns into a link, a notification or a picture *after* rendering, where only code helps, no backslash or entity:
# mentions and e-mail addresses (but ndcg@10 is a metric), issue references, addresses, emoji names, commit hashes.
_LIVE = re.compile(r"""(?<![A-Za-z0-9_])@\w | @(?!\d+(?:$|[^\w.-]|\.(?!\w)))\w | \#\d | gh-\d | :// | www\. | (?:mailto|xmpp): |
                       :(?:[a-z+-][\w+-]*|100|1234): | (?<![0-9a-z_])(?=[a-f]{0,11}[0-9]|[a-f]{12})[0-9a-f]{7,40}(?![0-9a-z])""",
                   re.IGNORECASE | re.VERBOSE)
_SPECIAL = re.compile(r"[&<>|`*\[\]\\~$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLOCK_START = re.compile(r"[-+=:]|\d+(?=[.)])")


def _entity(match: re.Match[str]) -> str:
    return {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(match[0]) or f"&#{ord(match[0])};"


def code(text: str, limit: int | None = None, table: bool = True) -> str:
    """Inline code. In a table a pipe splits cells even inside code, so it is escaped there (``table``), and only there."""
    text = clean(text, limit)
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|') if table else text}{pad}{fence}"


def fenced(lines: Iterable[str], indent: int = 0) -> str:
    """Visible lines as a block of code; its fence is longer than any row of backticks inside."""
    lines = list(lines)
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    return "\n".join(" " * indent + line for line in (fence, *lines, fence))


def inline(text: str, limit: int | None = None, table: bool = False) -> str:
    """A piece of running text that does not start a line; a space at either end is kept.

    Characters with a meaning become entities; words that GitHub would bring to life become code.
    """
    shown = " ".join(_word(word, table) if _LIVE.search(word) else _SPECIAL.sub(_entity, word) for word in clean(text, limit).split(" "))
    return f"{' ' * text[:1].isspace()}{shown}{' ' * text[-1:].isspace()}" if shown else " " * bool(text)


def _word(word: str, table: bool) -> str:
    """A word as code; a comma or full stop behind it belongs to the sentence."""
    core = word.rstrip(",.;")
    return code(core, table=table) + word[len(core):]


def joined(pieces: Iterable[str]) -> str:
    """Escaped pieces in a row; two codes that touch are kept apart, or their backticks would make one fence."""
    out = ""
    for piece in pieces:
        out += f" {piece}" if out.endswith("`") and piece.startswith("`") else piece
    return out


def at_start(shown: str) -> str:
    """Escaped text that may start a line: it becomes no list, heading or rule."""
    start = _BLOCK_START.match(shown)
    if start is None:
        return shown
    at = start.end() if shown[0].isdigit() else 0
    return f"{shown[:at]}&#{ord(shown[at])};{shown[at + 1:]}"


def cell(text: str, limit: int | None = None) -> str:
    """Running text in a cell of a table. Text with letters that run from right to left gets a direction of its own: the page is laid out
    from left to right, and would set a question mark at the wrong end."""
    shown = inline(text, limit, table=True).strip()
    backwards = not shown.isascii() and any(unicodedata.bidirectional(char) in ("R", "AL") for char in shown)
    return f'<span dir="auto">{shown}</span>' if backwards else shown


_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:/[A-Za-z0-9._~/%+@=,;:&?#-]*)?\Z")


def url(text: str) -> str:
    """An http(s) address that can stand in a Markdown link or an ``href``; empty when it is anything else."""
    return text if len(text) <= 2000 and _URL.match(text) else ""


# --- XML, terminals, workflow commands -------------------------------------------------------------------------------

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(text: str) -> str:
    """Only characters that XML 1.0 knows; the writer escapes the rest."""
    return _NOT_XML.sub("", text)


def terminal(text: str, limit: int | None = None) -> str:
    """One line for a terminal or a log: no escape sequences, nothing that a workflow runner takes for a command."""
    return guard(clean(text, limit))


def guard(line: str) -> str:
    """A finished line of a log: ``##[`` is broken wherever it is, ``::`` where it would start the line."""
    while "##[" in line:
        line = line.replace("##[", "## [")
    return f"| {line}" if line.lstrip().startswith("::") else line
