"""Removes numbers, bullets, labels, quotation marks and emphasis from lines of a reply."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from acqo_rl.replies.wording import ASSIGNED_LABEL, LABEL, names_entries
from acqo_rl.text import one_line, unnumbered

_COUNTED = re.compile(
    r"(?P<begin>#|\(?|[^\W\d_][^\W\d_A-Z]*(?:[ _-][^\W\d_A-Z]+){0,3}[ _-]?|[A-Z]{1,4}[ -]?)"
    r"(?:n[.\u00b0\u00ba]{1,2} ?|nr\.? ?|[^\W\d_]{1,3}\. ?|\u2116 ?|#|\()?"
    r"(?P<number>\d{1,2}|[a-hA-H]|[ivxIVX]{1,4})"
    r"(?P<end>\s?[:.)\uff1a\uff09]{1,2}(?!(?<=\d[.:])\d)|/(?=\s)|[\u00ba\u00aa](?=\s)|\s*[-\u2013\u2014](?=\s)|(?<=#\d)(?=\s))\s*(?=\S)"
)
"""A count before an entry, with or without a label: "1: ", "#1 ", "a) ", "(ii) ", "Teilfrage 1: "."""
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
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_COUNT_ALONE = re.compile(r"(?:\d{1,2}:\s+(?!\d)|[a-h]\)\s+|\((?:[a-h]|[ivx]{1,4})\)\s+)(?=\S)")
_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*]+)(?<=\S)\*\*(?![\w*])")
_QUOTES = {
    **{'"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "\u201c": "\u201d\u201c", "\u201e": "\u201c\u201d"},
    **{"\u00ab": "\u00bb", "\u00bb": "\u00ab", "\u2018": "\u2019", "\u201a": "\u2018", "\u2039": "\u203a"},
    **{"\u300c": "\u300d", "\u300e": "\u300f", "\u300a": "\u300b", "\u201d": "\u201d", "\u2019": "\u2019"},
}
_NUMBER = re.compile(r"\d{1,2}(?=[.)\u3001\uff0e\uff09])")


def plain(line: str) -> str:
    """The line without bold marks."""
    return _BOLD.sub(r"\1", line)


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


def bare(line: str) -> str:
    """The line without number, bullet, label, quotation marks and emphasis."""
    line = unquoted(unnumbered(plain(one_line(line))))
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


def uncounted(lines: Sequence[str]) -> list[str]:
    """Replaces counts by bullets, if they increase from one with the same label, or cannot be part of the text.

    A label must name a kind of entry: "Teilfrage 1:", but not "Hepatitis A:".
    """
    texts = [plain(line) for line in lines]
    texts = [unnumbered(line) if _COUNTED.match(unnumbered(line)) else line for line in texts]
    counts = {place: m for place, line in enumerate(texts) if (m := _COUNTED.match(line))}
    groups: dict[tuple[str, str], list[int]] = {}
    for place, m in counts.items():
        label = m["begin"].strip(" _-#(").casefold()
        if not label or names_entries(label):
            groups.setdefault((label, m["end"].strip()), []).append(place)
    ends = {place: m.end() for place, line in enumerate(texts) if (m := _COUNT_ALONE.match(line))}
    for places in groups.values():
        numbers = [counts[place]["number"].casefold() for place in places]
        orders = ([str(n) for n in range(1, len(places) + 1)], list("abcdefgh"), list(_ROMAN))
        if len(places) > 1 and any(numbers == order[: len(places)] for order in orders):
            ends |= {place: counts[place].end() for place in places}
    bare_counts = [place for place, m in counts.items() if not m["begin"].strip(" _-#(")]
    values = [count_of(counts[place]["number"]) for place in bare_counts]
    if len(values) > 1 and values == list(range(1, len(values) + 1)):  # in several styles: "1: ", "#2 ", "c) "
        ends |= {place: counts[place].end() for place in bare_counts}
    return [f"- {texts[place][ends[place] :]}" if place in ends else line for place, line in enumerate(lines)]


def count_of(number: str) -> int:
    """The count that a number or a letter stands for: 3 for "3", "\u2462" and "c"."""
    if number.isdecimal():
        return int(number)
    return unicodedata.digit(number) if number.isdigit() else ord(number[0].casefold()) - ord("a") + 1


def unquoted(line: str) -> str:
    """The line without quotation marks or emphasis that enclose all of it."""
    line = line.strip()
    if line.endswith((",", ";", ".", "\u3002", "\u3001")) and len(line) > 2 and line[-2] in _QUOTES.get(line[0], ""):
        line = line[:-1]
    while len(line) > 1 and line[-1] in _QUOTES.get(line[0], "") and not {line[0], line[-1]} & set(line[1:-1]):
        line = line[1:-1].strip().removesuffix(",")
    return line
