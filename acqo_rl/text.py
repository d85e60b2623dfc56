"""How texts are compared and cleaned, everywhere alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from acqo_rl.types import SubQuery

MAX_CHARACTERS = 200
"""Longest sub-query."""

_CLOSING = "?!.,;:\u3002"  # NFKC has made the full-width forms of ? and ! plain
_NEVER_MEANT = re.compile("[?\u3002].*")
_LONGEST_ABBREVIATION = 4  # letters; a word of so many may mean something else without its dot: "no.", "mass."
_OTHER = ("<super>", "<sub>", "<fraction>")
_NUMBERING = re.compile(  # Chinese writes no space after it
    r"^\s*(?:\(?(?:\d{1,2}[.)]|[-*+\u2013\u2022\u25e6])\s+|[(\uff08]?\d{1,2}[\u3001\uff0e\uff09]\s*"
    r"|\d{1,2}[.)](?=[\u4e00-\u9fff])|[\u2460-\u2473]\s*|[一二三四五六七八九十]{1,3}\u3001\s*)"
)
_STUTTER = re.compile(r"(?<!\S)(\S.*?)(?: \1)+(?!\S)", re.I)


def one_line(text: str) -> str:
    """The text with every run of white space and of control characters as one space, without invisible characters.

    Soft hyphens, zero-width joiners and zero-width spaces stand inside words, so that nothing takes their place.
    """
    if text.isprintable():  # no such character in it, as nearly always: ten times as fast
        return " ".join(text.split())
    kept = (" " if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Zl", "Zp") else c for c in _visible(text))
    return " ".join("".join(kept).split())


def without_stutter(text: str) -> str:
    """The text with words that are repeated at once said once: "Oslo Oslo" becomes "Oslo".

    Args:
        text: with single spaces, at most a few hundred characters.
    """
    before = ""
    while before != text:
        before, text = text, _STUTTER.sub(r"\1", text)
    return text


def without_echo(text: str) -> str:
    """The text without words at its end that it holds before: "Oslo Norway Oslo" becomes "Oslo Norway"."""
    words = text.split(" ")
    lowered = [word.casefold() for word in words]
    start = 1
    while start < len(words):
        tail = lowered[start : len(words)]
        if any(lowered[i : i + len(tail)] == tail for i in range(start - len(tail) + 1)):
            words, start = words[:start], 0
        start += 1
    return " ".join(words)


def _visible(text: str) -> str:
    return text if text.isprintable() else "".join(c for c in text if unicodedata.category(c) != "Cf")


def unnumbered(line: str) -> str:
    """A line of a list without its number or bullet; a number that belongs to the text stays ("2008 crisis")."""
    return _NUMBERING.sub("", line)


def normalised(text: str) -> str:
    """The key under which two queries count as the same: case, spacing and closing punctuation do not matter.

    Punctuation inside a text does: "C++", "C#" and "C" differ, and so do "10.5" and "105", "10\u00b2" and "102". So
    does closing punctuation that may be part of what is named: "5!" and "5", "C." and "C", "Yahoo!" and "yahoo" differ.
    """
    words = folded(one_line(compatible(text))).split(" ")
    while len(words) > 1 and words[-1] == "?":
        words.pop()
    last = words[-1].rstrip(_CLOSING)
    if last:
        marks = _NEVER_MEANT.sub("", words[-1][len(last) :])
        words[-1] = last if _close(marks, last, is_alone=len(words) == 1) else last + marks
    key = " ".join(words)
    return key if key.strip(_CLOSING + " ") else ""


def _close(marks: str, word: str, *, is_alone: bool) -> bool:
    """Whether marks after the last word end a sentence and are no part of the word, as in "5!", "c:", "no.", "Yahoo!".

    Scripts without capitals, such as Chinese, are not taken for abbreviations.
    """
    if unicodedata.category(word[-1]) == "Lo":
        return True
    if set(marks) & set("!:"):
        return word[-1].isalpha() and len(word) > 1 and not is_alone
    return len(word) > (_LONGEST_ABBREVIATION if is_alone else 1) or (word.isdecimal() and not is_alone)


def compatible(text: str) -> str:
    """NFKC without invisible characters; lone surrogates become ``?``.

    Raised and lowered characters and fractions stay, because they mean something else than plain ones.
    """
    if text.isascii():
        return text
    text = _visible(text.encode("utf-8", "replace").decode("utf-8"))
    if unicodedata.is_normalized("NFKC", text):  # as nearly always: a hundred times as fast
        return text
    plain = (c if unicodedata.decomposition(c).startswith(_OTHER) else unicodedata.normalize("NFKC", c) for c in text)
    return unicodedata.normalize("NFC", "".join(plain))


def folded(text: str) -> str:
    """A text of :func:`compatible` with all letters of one case, in the normal form again."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def distinct(sub_queries: Iterable[SubQuery]) -> tuple[SubQuery, ...]:
    """The sub-queries without empty ones and without repetitions after normalisation; the first of each stays."""
    by_key: dict[str, SubQuery] = {}
    for sub_query in sub_queries:
        key = normalised(sub_query.text)
        if key:
            by_key.setdefault(key, sub_query)
    return tuple(by_key.values())
