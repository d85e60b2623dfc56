"""Names and years in texts, marks that stand for them, and names that a corpus has documents about.

Marks are characters of the private use area.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice

from acqo_rl.text import TOKEN, one_line
from acqo_rl.types import Document, Span

_CAPITALS = "".join(filter(str.isupper, map(chr, range(0x3000))))
_REST = "[\\w\u0300-\u036f'\u2019-]{0,50}+"
NAME_WORD = rf"[{_CAPITALS}](?:\.(?=\s)|{_REST}(?:\.\w{_REST}){{0,8}}+)"
"""A capitalised word or an initial; scripts without capitals have none. Of a longer word, the beginning."""

_PARTICLES = r"(?:(?:van|von|der|den|de|la|le|du|del|della|da|di|dos|do|bin|ibn|al|el|of|the)\s+){0,2}"
_NAME = re.compile(
    rf"\b{NAME_WORD}(?:\s?&\s?{NAME_WORD}|\s+(?:{_PARTICLES}{NAME_WORD}|(?=\d)(?:{TOKEN.pattern})))*(?:\s\([^()]*\))?"
)
_NOUN = re.compile(r"(?:^|[.?!:]\s)(\w+) (?:of|in|for|between)\b")
"""A noun at the beginning of a sentence, which is no name: "Area of Peru"."""
OPENERS = frozenset(
    """
    a about according after all also although an and another any anything april are as at august be between both but
    by can chance compare compared comparing could december describe did differ difference do does either else
    explain february find for found friday from give glad good got great had happy has have he hello help her hey hi
    his how i if in interesting is it its january july june just know let like list look looking many march may me
    monday much my name need no not noted november now october of ok okay on one or our please quick quickly said
    same saturday say search see september she should show since so some sorry sources still sunday sure tell than
    thank thanks that the their them then there these they this those thursday to tuesday two under up versus vs
    want was we wednesday well were what when where whether which while who whose why will with would yes you your
    how's i'd i'll i'm it's let's that's what's where's who's
    """.split()  # noqa: SIM905
)
"""Words of sentences and requests that do not describe what is asked for, and capitalised words that are no names."""

_JOINED = re.compile(r" (?:and|or|&|vs\.?|versus) |, ", re.I)
_WITH_READING = re.compile(r"\A(.+?)(?: \(([^()]+)\)|, ([A-Z][\w.'\u2019-]*(?: [A-Z][\w.'\u2019-]*){0,2}))")
_CAPITALISED = re.compile(rf"\b{NAME_WORD}")
_PAIR = re.compile(rf"\b({NAME_WORD}(?: {NAME_WORD}){{0,4}}) and ((?:the )?{NAME_WORD}(?: {NAME_WORD}){{0,4}})")
_LEAST_PAIRS, _LEAST_SHARE = 5, 2 / 3
_TITLE_WORDS = 8
_MOST_READ, _CHARACTERS_READ = 100_000, 2_000
"""Maximum number of documents that are read, and of characters of each, which takes a few seconds."""

_COMMON_READINGS = {
    "apple": ("company", "fruit"),
    "jaguar": ("animal", "car"),
    "java": ("programming language", "island"),
    "mercury": ("planet", "element", "mythology"),
    "python": ("programming language", "snake"),
}

MARK = "[\ue000-\uf8ff]"
"""Expression for a mark."""

FIRST_YEAR = "\uf000"
"""Marks of names come before it."""

_YEAR = re.compile(
    r"(?<![\w.,:/$\u20ac#-])(?:1[5-9]|20)\d\d(?![\w%]|[.,:]\d|-\d| ?(?:tokens?|words?|b(?:it|yte)s?|px|k[mg]|m)\b)"
)
_NUMBERED = re.compile(r"(?:ports?|room|error|code|rfc|iso|model|version|page|number|no\.?|bus|flight|line) $", re.I)


def _capitalised(text: str) -> list[Span]:
    """Start and end of the capitalised spans of a text, without words that often start a sentence."""
    found = []
    text = _NOUN.sub(lambda match: match[0].lower(), text)
    for match in _NAME.finditer(text):
        start = match.start()
        span = match[0].rstrip(" ")
        while (word := span.partition(" ")[0]) and word.lower().replace("\u2019", "'").rstrip(".") in OPENERS:
            start = start + len(word) + 1
            span = span[len(word) + 1 :]
        span = re.sub(r"['\u2019]s$|(?<=\w\w)\.$", "", span)
        if span:
            found.append((start, start + len(span)))
    return found


def joined_names(texts: Iterable[str]) -> frozenset[str]:
    """The names with "and" in some texts, in lower case: "bosnia and herzegovina".

    At least five texts contain both parts joined. These are at least two thirds of all texts with the last word of the
    first part, or with that of the second part.
    """
    pairs: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for text in texts:
        found = [(_capitalised(match[1]), match) for match in _PAIR.finditer(text)]
        pairs.update({f"{match[1][spans[0][0] :]} and {match[2]}" for spans, match in found if spans})
        words.update(set(_CAPITALISED.findall(text)))
    return frozenset(
        pair.lower()
        for pair, number in pairs.items()
        if number >= max(_LEAST_PAIRS, _LEAST_SHARE * min(words[part.split(" ")[-1]] for part in pair.split(" and ")))
    )


@dataclass(frozen=True)
class Lexicon:
    """Names that a corpus has documents about; all keys are in lower case.

    Attributes:
        titles: titles of documents of at most eight words, also without the words that distinguish meanings.
        readings: name -> words that distinguish its meanings: "Lund (town)" and "Lund, Nevada" give two for "lund".
        joined: names with "and"; see :func:`joined_names`.
    """

    titles: frozenset[str] = frozenset()
    readings: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _COMMON_READINGS)
    joined: frozenset[str] = frozenset()

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Lexicon:
        """Reads titles and texts of the first 100,000 documents and adds a few common ambiguous names."""
        read = list(islice(documents, _MOST_READ))
        titles = {one_line(document.title) for document in read}
        short = {title for title in titles if title and len(title.split()) <= _TITLE_WORDS}
        found: dict[str, set[str]] = defaultdict(set)
        for title in short:
            if match := _WITH_READING.fullmatch(title):
                found[match[1].lower()].add(match[2] or match[3])
        readings = {name: tuple(sorted(several)) for name, several in found.items() if len(several) > 1}
        joined = joined_names(f"{one.title}. {one.text[:_CHARACTERS_READ]}" for one in read)
        return cls(frozenset({*map(str.lower, short), *found}), {**_COMMON_READINGS, **readings}, joined)

    def names(self, text: str) -> list[str]:
        """The names in a text, in order; see :meth:`spans`."""
        return [text[start:end] for start, end in self.spans(text)]

    def spans(self, text: str) -> list[Span]:
        """Start and end of the names in a text, in order.

        Where names overlap, titles with "and" or a comma come first, then capitalised spans, then other titles. Titles
        are found in any case of letters; in lower case they need more than three letters.
        """
        titles = self._titles_in(text)
        joined = [span for span in titles if _JOINED.search(text[slice(*span)])]
        found: list[Span] = []
        for start, end in [*joined, *filter(partial(self._may_name, text), _capitalised(text)), *titles]:
            if all(end <= first or last <= start for first, last in found):
                found.append((start, end))
        return sorted(found)

    def _may_name(self, text: str, span: Span) -> bool:
        """Whether a capitalised span is a name: not a single word that starts a sentence and is in no title."""
        start, end = span
        starts = not (before := text[:start].rstrip()) or before[-1] in ".?!:"
        return not starts or " " in text[start:end] or not self.titles or text[start:end].lower() in self._title_words

    @cached_property
    def _title_words(self) -> frozenset[str]:
        return frozenset(word.strip("(),.") for title in self.titles for word in title.split())

    def _titles_in(self, text: str) -> list[Span]:
        known = (self.titles, self.joined)
        words = [match.span() for match in re.finditer(r"[^\s,;:?!]+", text)] if any(known) else []
        found: list[Span] = []
        place = 0
        while place < len(words):
            start = words[place][0]
            for last in range(min(len(words), place + _TITLE_WORDS), place, -1):
                title = re.sub(r"['\u2019]s$|\.$", "", text[start : words[last - 1][1]])
                if any(title.lower() in some for some in known) and (title[0].isupper() or len(title) > 3):
                    found.append((start, start + len(title)))
                    place = last - 1
                    break
            place += 1
        return found


def years_in(text: str) -> list[int]:
    """The years (1500 to 2099) in a text, in order; "port 2021" and "2048 tokens" have none."""
    return [int(m[0]) for m in _YEAR.finditer(text) if not _NUMBERED.search(text[: m.start()][-12:])]


def marks_of(text: str, lexicon: Lexicon) -> dict[str, str]:
    """Mark -> name or year, for the distinct names and years of a text, which has no marks."""
    names = dict.fromkeys(lexicon.names(text))
    years = dict.fromkeys(str(year) for year in years_in(text) if not any(str(year) in name for name in names))
    marks = {chr(0xE000 + place): name for place, name in enumerate(names)}
    return marks | {chr(ord(FIRST_YEAR) + place): year for place, year in enumerate(years)}


def with_marks(text: str, marks: Mapping[str, str]) -> str:
    """The text with marks in place of their names and years."""
    for mark, name in sorted(marks.items(), key=lambda item: -len(item[1])):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", mark, text)
    return text


def without_marks(text: str, marks: Mapping[str, str]) -> str:
    """The text with names and years in place of their marks."""
    return re.sub(MARK, lambda mark: marks[mark[0]], text)
