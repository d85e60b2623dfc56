"""Removes numbers, bullets, labels, quotation marks and emphasis from lines of a reply."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from acqo_rl.replies.wording import ASSIGNED_LABEL, LABEL
from acqo_rl.text import one_line, unnumbered

_ODD_COUNT = re.compile(
    r"^(?:#{1,6}\s+(?=\d{1,2}[.)]\s)|[-*+]\s+\[[ xX]\]\s+|\[\d{1,2}\][:.]?\s+|<\d{1,2}>\s+|\d\ufe0f?\u20e3\s*"
    r"|[\u2192\u2023\u25aa\u25cf\u25cb\u25ba\u27a4\u30fb\u00b7]\s*|<li>\s*|\\item\s+|\d{1,2}\.\)\s+|\d{1,2}\\[.)]\s+|\d{1,2}\u3002\s*"
    r"|([*_`])\d{1,2}[.):]?\1[.):]?\s+|(?:First|Second|Third|Fourth|Last|Final)(?:ly)?, |(?:Then|Next), "
    r"|(?:Erst|Zweit|Dritt)ens, |(?:Premièrement|Deuxièmement|Troisièmement|Enfin), "
    r"|(?:Primero|Segundo|Tercero|Primo|Secondo|Terzo|Primeiro|Terceiro), )(?=\S)"
)
"""Counts and bullets in other markup or in words: "[1] ", "- [ ] ", "### 1. ", "1.) ", "*1.* ", "First, "."""
_TAGGED = re.compile(r"^<([a-z][\w-]{0,20})(?:\s[^<>]*)?>\s*(.*?)\s*</\1>$", re.I)
_TAG_ALONE = re.compile(r"^</?[a-z][\w-]{0,20}(?:\s[^<>]*)?>$", re.I)
_BOLD = re.compile(r"(?<![\w*])(?:\*\*(?=[^\s*])([^*]+)(?<=\S)\*\*|__(?=[^\s_]+[\s:])([^_]+)(?<=\S)__)(?![\w*])")
_QUOTES = {
    **{'"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "\u201c": "\u201d\u201c", "\u201e": "\u201c\u201d"},
    **{"\u00ab": "\u00bb", "\u00bb": "\u00ab", "\u2018": "\u2019", "\u201a": "\u2018", "\u2039": "\u203a"},
    **{"\u300c": "\u300d", "\u300e": "\u300f", "\u300a": "\u300b", "\u201d": "\u201d", "\u2019": "\u2019"},
}
_NUMBER = re.compile(r"\d{1,2}(?=[.)\u3001\uff0e\uff09])")


def plain(line: str) -> str:
    """The line without bold marks."""
    return _BOLD.sub(r"\1\2", line)


def with_colon(line: str) -> str:
    """Replaces a label with another sign than a colon, such as "SUB_QUERY_1 = ", by "Query 1: ".

    Empty if the line has only a label. "Part 1 = part 2" has no label.
    """
    match = ASSIGNED_LABEL.match(line)
    if match is None:
        return line
    label, rest = match["label"], line[match.end() :]
    word, number = re.sub(r"[\W\d_]+$", "", label), re.search(r"\d+", label)
    has_sign = match.end("label") < len(line[: match.end()].rstrip())
    if re.search(rf"\b{re.escape(word)}[\s_]*\d", rest, re.I) or not (has_sign or word.lower().startswith("sub")):
        return line
    return f"{match['bullet'] or ''}Query{f' {int(number[0])}' if number else ''}: {rest}" if rest else ""


def is_marked(line: str) -> bool:
    """Whether a line starts with a number, a bullet or a label."""
    return bool(unnumbered(plain(line)) != plain(line) or LABEL.match(plain(line)))


def unmarked(line: str) -> str:
    """The line without its number or bullet, which may be written in bold."""
    if (rest := unnumbered(line)) != line:
        return rest
    return unnumbered(plain(line)) if is_marked(line) else line


def without_marks(lines: Sequence[str], read: str = "") -> list[str]:
    """The lines without the bullets and numbers of the list; numbers that belong to the texts stay.

    A second number stays unless all lines count on in it: "1. 1. FC Koeln". So do numbers that count nothing, and the
    number of a single line unless it is 1 ("2. Bundesliga") or the model read it.

    Args:
        lines: the lines of the list.
        read: the text that the model read.
    """
    numbers = list(map(_number_of, lines))
    if not _count_entries(lines, numbers, read):
        return [unmarked(line) if n is None else line for line, n in zip(lines, numbers, strict=True)]
    once = list(map(unmarked, lines))
    second = list(map(_number_of, once))
    is_counted_twice = second == list(range(1, len(lines) + 1)) and not any(_is_read(line, read) for line in once)
    return [unmarked(line) if n is None or is_counted_twice else line for line, n in zip(once, second, strict=True)]


def _number_of(line: str) -> int | None:
    """The number before a line; ``None`` if it has none."""
    line = plain(line)
    number = _NUMBER.match(line.removeprefix("("))
    return int(number[0]) if number and unnumbered(line) != line else None


def _count_entries(lines: Sequence[str], numbers: Sequence[int | None], read: str) -> bool:
    """Whether the numbers before lines are not part of the texts."""
    found = [number for number in numbers if number is not None]
    are_read = [line for line, n in zip(lines, numbers, strict=True) if n is not None and _is_read(line, read)]
    if len(found) > len(are_read) and all(other == one + 1 for one, other in pairwise(found)) and len(found) > 1:
        return True
    return not are_read and (not found or (found[0] == 1 and (len(found) > 1 or numbers[0] == 1)))


def _is_read(line: str, read: str) -> bool:
    """Whether the model read the number before a line with the word after it: "1. FC"."""
    return " ".join(line.split()[:2]).casefold() in read.casefold()


def bare(line: str) -> str:
    """The line without number, bullet, label, quotation marks and emphasis."""
    return undressed(unnumbered(plain(one_line(line))))


def undressed(line: str) -> str:
    """The line without label, quotation marks and emphasis."""
    line = unquoted(plain(one_line(line)))
    return unquoted(LABEL.sub("", line, count=1)) if LABEL.match(line) else line


def counted(line: str) -> tuple[int, str] | None:
    """The number and the text of an entry such as "2. ..." or "**Sub-query 2:** ..."; ``None`` without a number."""
    line = plain(one_line(line)).lstrip("-*+\u2022\u2013 ")
    if number := _NUMBER.match(line):
        return int(number[0]), bare(line)
    label = LABEL.match(line)
    number_of = next((n for n in label.groups() if n and n.isdecimal()), None) if label else None
    return (int(number_of), bare(line)) if number_of else None


def without_markup(lines: Sequence[str]) -> list[str]:
    """Replaces tags by plain bullets, and also other bullets and numbers if several lines have them."""
    lines = [_TAGGED.sub(r"- \2", line) for line in lines if not _TAG_ALONE.match(line)]
    signs = [_is_sign(line.partition(" ")[0]) for line in lines]
    if sum(signs) > 1:
        return [f"- {line.partition(' ')[2]}" if sign else line for line, sign in zip(lines, signs, strict=True)]
    if sum(bool(_ODD_COUNT.match(line)) for line in lines) < 2:
        return lines
    return [_ODD_COUNT.sub("" if line.startswith("#") else "- ", line) for line in lines]


def _is_sign(word: str) -> bool:
    """Whether a word is an emoji, an arrow, a dash or another sign used as a bullet."""
    categories = {unicodedata.category(c) for c in word}
    return bool(categories) and categories <= {"So", "Sm", "Sk", "Pd", "Mn", "Cf"} and word not in ("=", "+", "<", "-")


def unquoted(line: str) -> str:
    """The line without quotation marks or emphasis that enclose all of it."""
    line = line.strip()
    if line.endswith((",", ";", ".", "\u3002", "\u3001")) and len(line) > 2 and line[-2] in _QUOTES.get(line[0], ""):
        line = line[:-1]
    while len(line) > 1 and line[-1] in _QUOTES.get(line[0], "") and not {line[0], line[-1]} & set(line[1:-1]):
        line = line[1:-1].strip().removesuffix(",")
    return line
