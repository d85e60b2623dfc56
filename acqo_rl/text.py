"""How texts are compared and cleaned, everywhere alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from acqo_rl.conversations import Turn
from acqo_rl.types import Query, SubQuery

MAX_QUERY, MAX_TURN = 8_000, 4_000
"""Characters that are read of a query and of an earlier turn."""

MAX_TURNS = 50
"""Earlier turns that are read."""

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
_AROUND = "?!.,;:\"'()[]{}\u2018\u2019\u201c\u201d\u00ab\u00bb"
_SHORT = 3  # letters of a word that may be repeated: "the", "of"


def one_line(text: str) -> str:
    """The text with every run of white space and of control characters as one space, without invisible characters.

    Soft hyphens, zero-width joiners and zero-width spaces stand inside words, so that nothing takes their place.
    """
    if text.isprintable():  # no such character in it, as nearly always: ten times as fast
        return " ".join(text.split())
    kept = (" " if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Zl", "Zp") else c for c in _visible(text))
    return " ".join("".join(kept).split())


def both_ends(text: str, most: int) -> str:
    """Both ends of a text, at most so many characters of it and "..." between; a text that has no more as it is."""
    if len(text) <= most:
        return text
    return f"{_to_space(text[: most // 2])} ... {_to_space(text[len(text) - most // 2 :][::-1])[::-1]}"


def within(text: str, most: int) -> str:
    """The text, or both ends of it in one line where it has more characters."""
    if len(text) <= most:
        return text
    line = one_line(text)
    return line if len(line) <= most else both_ends(line, most - len(" ... "))


def within_limits(query: Query) -> Query:
    """The query as every way in reads it: long texts keep both ends, empty turns and the oldest ones are left out."""
    said = [turn for turn in query.history if one_line(turn.text)]
    history = tuple(Turn(turn.speaker, within(turn.text, MAX_TURN)) for turn in said[-MAX_TURNS:])
    text = within(query.text, MAX_QUERY)
    return query if (text, history) == (query.text, query.history) else replace(query, text=text, history=history)


def _to_space(text: str) -> str:
    """The text up to the end of a word, where a space stands in its second half."""
    space = text.rfind(" ")
    return text[:space] if 2 * space > len(text) else text


def each_word_once(text: str, read: str = "") -> str:
    """The text without repeated words: "Oslo views Oslo views of Oslo" becomes "Oslo views of".

    Short words in lower case may be repeated before others, as in "the mayor of the capital", unless the word before
    them is repeated with them. So may, once, a word of a name in ``read`` ("Eiffel Tower Trump Tower", "Duran Duran").

    Args:
        text: what is written, in one line.
        read: what its writer has read.
    """
    names: frozenset[tuple[str, str]] | None = None
    words = text.split(" ")
    while len(set(map(word_key, words))) < len(words):
        names = name_pairs(read) if names is None else names
        kept = _without_repetitions(words, names)
        if kept == words:
            break
        words = kept
    return " ".join(words)


def _without_repetitions(words: list[str], names: frozenset[tuple[str, str]]) -> list[str]:
    keys = [word_key(word) for word in words]
    kept: list[str] = []
    said: list[str] = []
    for word, key, next_key in zip(words, keys, [*keys[1:], ""], strict=True):
        if key not in said or _may_repeat(word, key, next_key, said, names):
            kept.append(word)
            said.append(key)
    return kept


def _may_repeat(word: str, key: str, next_key: str, said: list[str], names: frozenset[tuple[str, str]]) -> bool:
    pairs = set(pairwise(said))
    if is_short(word):
        return bool(next_key) and said[-1] != key and (said[-1], key) not in pairs
    return said.count(key) == 1 and not names.isdisjoint({(said[-1], key), (key, next_key)} - pairs)


def name_pairs(text: str) -> frozenset[tuple[str, str]]:
    """Keys of each two words of a text that stand side by side in a name: capitalised both, or the same word twice."""
    words = text.split()
    return frozenset(
        (word_key(one), word_key(other))
        for one, other in pairwise(words)
        if one[-1] not in _AROUND and ((one[0].isupper() and other[0].isupper()) or word_key(one) == word_key(other))
    )


def is_short(word: str) -> bool:
    """Whether a word is short and in lower case, as articles and prepositions are."""
    return len(word) <= _SHORT and word.isalpha() and word.islower()


def word_key(word: str) -> str:
    """What a word is known by: its case and the punctuation around it do not matter ("C++" and "C#" differ)."""
    return bare_word(word).casefold()


def bare_word(word: str) -> str:
    """The word without the punctuation around it; all of it where it is nothing else."""
    return word.strip(_AROUND) or word


def text_of(query: Query) -> str:
    """Everything that a reformulator reads of a query: its text, its conversation and its feedback."""
    snippets = (f"{snippet.title} {snippet.text}" for snippet in query.feedback)
    return " ".join([query.text, *(turn.text for turn in query.history), *snippets])


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
