"""Cleans, shortens and compares texts; shared by all components."""

import re
import runpy
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from acqo_rl.types import Document, Query, Span, SubQuery, Turn

MAX_QUERY, MAX_TURN = 8_000, 4_000
"""Maximum number of characters of a query and of an earlier turn; longer texts are shortened."""

MAX_TURNS = 50
"""Maximum number of earlier turns; older turns are dropped."""

MAX_CHARACTERS = 200
"""Maximum number of characters of a sub-query."""

_JOIN = r"(?:[-./:_]|(?<=\d)(?:\)? |\)|,| ?\((?=\d+\) ?\d))(?=\d))"
TOKEN = re.compile(rf"(?:[^\W_]++{_JOIN}){{0,15}}[^\W\d_]*+\d[^\W_]*+|[^\W_]++")
"""A word. Up to 16 parts with signs or, between digits, spaces are one word if the last part has a digit:
``CVE-2021-44228``, ``DE89 3704 0044``. :func:`words` adds the marks after its letters."""

_IN_WORDS = frozenset(("Mn", "Mc", "Me", "Cf"))
"""Categories of accents, vowel signs and joiners."""
_MAY_LACK_SPACES = re.compile("[\u0e00-\u1dff\u2e80-\U0010ffff]")
_MANY_MARKS = re.compile("([^\\w\\s\0-\x7f]{30})[^\\w\\s\0-\x7f]+")
"""More marks than a letter has in the stream-safe text format of Unicode (UAX #15)."""

_CLOSING = "?!.,;:\u3002"  # NFKC has made the full-width forms of ? and ! plain
_ALWAYS_CLOSING = re.compile("[?\u3002].*")  # never part of a name
_LONGEST_ABBREVIATION = 4  # letters; a word this short may change its meaning without the dot: "no.", "mass."
_OTHER = ("<super>", "<sub>", "<fraction>")
_NUMBERING = re.compile(  # in Chinese no space follows the number
    r"^\s*(?:\(?(?:\d{1,2}[.)]|[-*+\u2013\u2022\u25e6])\s+|[(\uff08]?\d{1,2}[\u3001\uff0e\uff09]\s*"
    r"|\d{1,2}[.)](?=[\u4e00-\u9fff])|[\u2460-\u2473]\s*|[一二三四五六七八九十]{1,3}\u3001\s*)"
)
AROUND = "?!.,;:\"'()[]{}\u2018\u2019\u201c\u201d\u00ab\u00bb"
_SHORT = 3  # letters of a word that may be repeated: "the", "of"


def one_line(text: str) -> str:
    """Replaces each run of white space and control characters by one space and removes invisible characters.

    Soft hyphens, zero-width joiners and zero-width spaces occur inside words, so they are removed without a space.
    """
    if text.isprintable():  # the common case, ten times as fast
        return " ".join(text.split())
    kept = (" " if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Zl", "Zp") else c for c in _visible(text))
    return " ".join("".join(kept).split())


def drop_middle(text: str, most: int) -> str:
    """Replaces the middle of a text by " ... " so that at most ``most`` of its characters remain."""
    if len(text) <= most:
        return text
    return f"{_to_space(text[: most // 2])} ... {_to_space(text[len(text) - most // 2 :][::-1])[::-1]}"


def shorten(text: str, most: int) -> str:
    """Returns texts of at most ``most`` characters unchanged; puts longer ones on one line and drops the middle."""
    if len(text) <= most:
        return text
    line = one_line(text)
    return line if len(line) <= most else drop_middle(line, most - len(" ... "))


def within_limits(query: Query) -> tuple[Query, tuple[str, ...]]:
    """Applies the size limits to a query: shortens long texts and drops empty turns and the oldest turns.

    See ``MAX_QUERY``, ``MAX_TURN`` and ``MAX_TURNS``.

    Returns:
        The query, and notes on what was left out; empty turns and white space do not count.
    """
    said = [turn for turn in query.history if one_line(turn.text)]
    last = said[-MAX_TURNS:]
    history = tuple(Turn(turn.speaker, shorten(turn.text, MAX_TURN)) for turn in last)
    is_long = len(query.text) > MAX_QUERY and len(one_line(query.text)) > MAX_QUERY
    cut = sum(len(turn.text) > MAX_TURN and len(one_line(turn.text)) > MAX_TURN for turn in last)
    notes = []
    if is_long:
        notes.append(f"Of the query, only both ends are read, {MAX_QUERY:,} characters.")
    if cut:
        notes.append(f"Of {cut} earlier turns, only both ends are read, {MAX_TURN:,} characters each.")
    if len(said) > MAX_TURNS:
        notes.append(f"Only the last {MAX_TURNS} of {len(said)} earlier turns are read.")
    return replace(query, text=shorten(query.text, MAX_QUERY), history=history), tuple(notes)


def _to_space(text: str) -> str:
    """Cuts the text at its last space, if that is in its second half."""
    space = text.rfind(" ")
    return text[:space] if 2 * space > len(text) else text


def word_spans(text: str, pattern: re.Pattern[str] = TOKEN) -> list[Span]:
    """Start and end of the words of a text, in order.

    Accents and vowel signs belong to the letter before them. ICU splits words of scripts without spaces (UAX #29).

    Args:
        text: a text.
        pattern: what a word is in a text without such signs.
    """
    found = [match.span() for match in pattern.finditer(text)]
    if text.isascii():
        return found
    spans: list[Span] = []
    for start, end in found:
        while end < len(text) and unicodedata.category(text[end]) in _IN_WORDS:
            end += 1
        if spans and spans[-1][1] >= start:  # only marks are between them
            start, _ = spans.pop()
        spans.append((start, end))
    return [part for span in spans for part in _parts(text, *span)] if _MAY_LACK_SPACES.search(text) else spans


def _parts(text: str, start: int, end: int) -> Iterator[Span]:
    from icu4py.breakers import WordBreaker

    word = text[start:end]
    for segment in WordBreaker(word, "en") if _MAY_LACK_SPACES.search(word) else [word]:
        yield start, start + len(segment)
        start += len(segment)


def words(text: str, pattern: re.Pattern[str] = TOKEN) -> list[str]:
    """The words of a text; see :func:`word_spans`."""
    return [text[start:end] for start, end in word_spans(text, pattern)]


def words_of(text: str) -> list[str]:
    """The words of a text with their punctuation; spaces within a :data:`TOKEN` do not separate words."""
    joined = TOKEN.sub(lambda match: match[0].replace(" ", "\0"), text)
    return [word.replace("\0", " ") for word in joined.split()]


def each_word_once(text: str, read: str = "") -> str:
    """Removes repeated words: "Oslo views Oslo views of Oslo" becomes "Oslo views of".

    A short lower-case word may be repeated before another word ("the mayor of the capital"), unless the word before
    it is repeated too. A word of a name in ``read`` may be repeated once ("Eiffel Tower Trump Tower", "Duran Duran"),
    and a number in groups that is in ``read`` is one word.

    Args:
        text: a generated text, on one line.
        read: the text that the model read; a name does not continue on the next line.
    """
    words = [word for one in words_of(text) for word in ([one] if one in read else one.split(" "))]
    if len(set(map(word_key, words))) < len(words):
        names = _name_pairs(read)
        while (kept := _without_repetitions(words, names)) != words:
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
    if len(word) <= _SHORT and word.isalpha() and word.islower():  # as articles and prepositions are
        return bool(next_key) and said[-1] != key and (said[-1], key) not in pairs
    return said.count(key) == 1 and not names.isdisjoint({(said[-1], key), (key, next_key)} - pairs)


def _name_pairs(text: str) -> frozenset[tuple[str, str]]:
    """Keys of adjacent words of a line that look like part of a name: both capitalised, or the same word twice."""
    return frozenset(
        (word_key(one), word_key(other))
        for line in text.splitlines()
        for one, other in pairwise(line.split())
        if one[-1] not in AROUND and ((one[0].isupper() and other[0].isupper()) or word_key(one) == word_key(other))
    )


def word_key(word: str) -> str:
    """The key for comparing words; it ignores case and surrounding punctuation ("C++" and "C#" differ)."""
    return (word.strip(AROUND) or word).casefold()


def text_of(query: Query) -> str:
    """All text that a reformulator reads of a query: its text, its history and its feedback, each text on its own line.

    Without the line ends, the turns "Where is Oslo" and "Oslo is in Norway" would contain a name "Oslo Oslo".
    """
    snippets = (text for snippet in query.feedback for text in (snippet.title, snippet.text))
    return "\n".join(map(one_line, [query.text, *(turn.text for turn in query.history), *snippets]))


def _visible(text: str) -> str:
    return text if text.isprintable() else "".join(c for c in text if unicodedata.category(c) != "Cf")


def unnumbered(line: str) -> str:
    """A list item without its number or bullet; a number that is part of the text stays ("2008 crisis")."""
    return _NUMBERING.sub("", line)


def normalised(text: str) -> str:
    """The key for comparing queries; it ignores case, spacing and closing punctuation.

    Punctuation inside a text is kept: "C++", "C#" and "C" differ, and so do "10.5" and "105", "10\u00b2" and "102".
    Closing punctuation that may be part of a name is kept too: "5!" and "5", "C." and "C", "Yahoo!" and "yahoo" differ.
    """
    words = folded(one_line(compatible(text))).split(" ")
    while len(words) > 1 and words[-1] == "?":
        words.pop()
    last = words[-1].rstrip(_CLOSING)
    if last:
        marks = _ALWAYS_CLOSING.sub("", words[-1][len(last) :])
        words[-1] = last if _end_sentence(marks, last, is_alone=len(words) == 1) else last + marks
    key = " ".join(words)
    return key if key.strip(_CLOSING + " ") else ""


def _end_sentence(marks: str, word: str, *, is_alone: bool) -> bool:
    """Whether the marks after the last word only end the sentence; they may belong to "5!", "c:", "no." or "Yahoo!".

    Words in scripts without capitals, such as Chinese, cannot be abbreviations.
    """
    if unicodedata.category(word[-1]) == "Lo":
        return True
    if set(marks) & set("!:"):
        return word[-1].isalpha() and len(word) > 1 and not is_alone
    return len(word) > (_LONGEST_ABBREVIATION if is_alone else 1) or (word.isdecimal() and not is_alone)


def compatible(text: str) -> str:
    """Applies NFKC and removes invisible characters; lone surrogates become ``?``.

    Superscripts, subscripts and fractions are kept, because their plain forms have another meaning. Of marks or
    signs that follow each other, the first 30 are kept, because sorting marks takes quadratic time.
    """
    if text.isascii():
        return text
    text = _MANY_MARKS.sub(r"\1", _visible(text.encode("utf-8", "replace").decode("utf-8")))
    if unicodedata.is_normalized("NFKC", text):  # the common case, a hundred times as fast
        return text
    plain = (c if unicodedata.decomposition(c).startswith(_OTHER) else unicodedata.normalize("NFKC", c) for c in text)
    return unicodedata.normalize("NFC", "".join(plain))


def folded(text: str) -> str:
    """Case-folds a text that :func:`compatible` returned and restores the normal form NFC."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def distinct(sub_queries: Iterable[SubQuery]) -> tuple[SubQuery, ...]:
    """Removes sub-queries that are empty after normalisation or equal an earlier one."""
    by_key: dict[str, SubQuery] = {}
    for sub_query in sub_queries:
        key = normalised(sub_query.text)
        if key:
            by_key.setdefault(key, sub_query)
    return tuple(by_key.values())


@lru_cache(200_000)
def stem(word: str) -> str:
    """The English stem of a lower-case word."""
    return str(_stemmer().stemWord(word))


@lru_cache(1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


def stems(text: str) -> list[str]:
    """The stemmed words of a text."""
    return [stem(word) for word in words(text.lower())]


def content_words(text: str) -> list[str]:
    """The stemmed words of a text without English stop words."""
    return [stem(word.lower()) for word in _content_words(text)]


def words_by_stem(text: str) -> dict[str, str]:
    """Stem -> word as written, without English stop words."""
    return {stem(word.lower()): word for word in _content_words(text)}


def _content_words(text: str) -> list[str]:
    common = stop_words()["STOPWORDS_EN_PLUS"]
    return [word for word in words(text) if word.lower() not in common]


@lru_cache(1)
def stop_words() -> dict[str, frozenset[str]]:
    """The lists of bm25s, such as ``STOPWORDS_EN_PLUS``; read without its package, which imports scipy, 0.4 s."""
    spec = find_spec("bm25s")
    assert spec and spec.origin
    lists = runpy.run_path(str(Path(spec.origin).with_name("stopwords.py")))
    return {name: frozenset(words) for name, words in lists.items() if name.startswith("STOPWORDS")}


def known_share(text: str, read: str) -> float:
    """The share of the content words of a text that another one has, perhaps in another spelling.

    Of scripts without spaces, a character is enough.
    """
    known = set(content_words(read))
    words = content_words(text)

    def is_known(word: str) -> bool:
        characters = (c for c in word if unicodedata.category(c) == "Lo")
        return word in known or bool(get_close_matches(word, known, 1, 0.8)) or any(c in read for c in characters)

    return sum(map(is_known, words)) / max(len(words), 1)


def passage_text(document: Document) -> str:
    """Title and text as one string, which all retrievers embed or index; only the text if there is no title."""
    return f"{document.title}. {document.text}" if document.title else document.text
