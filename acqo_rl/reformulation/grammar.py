"""The grammar of policy completions: renderer, strict and tolerant parser, and regular expression for guided decoding.

    pass                       search the raw query

    resolve                    (route disambiguate) one sub-query per reading, one per line
    Springfield Missouri mayor
    Springfield Illinois mayor

    split                      (route decompose) one sub-query per part, one per line
    capital of Peru
    =                          "=" stands for the raw query
    = Lima                     "= WORDS" stands for the raw query with these words appended

The tags are single tokens in common vocabularies, so the route costs one token. A line that is a tag, in any case and
with any punctuation around it, is no sub-query: a model that writes one has lost the form.

With a list of words, each word of a sub-query must be a word of the query, the conversation or the feedback, or one of
the list; so each word is searched whole or not at all.

Sub-queries are rendered and parsed in canonical form, without repeated words (:func:`acqo_rl.text.each_word_once`),
because repeated words do not improve the results.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from acqo_rl.errors import GrammarError
from acqo_rl.text import (
    MAX_CHARACTERS,
    compatible,
    distinct,
    each_word_once,
    folded,
    normalised,
    one_line,
    text_of,
    unnumbered,
    word_key,
    words,
    words_of,
)
from acqo_rl.types import Query, Route, SubQuery, SubQueryKind

VERSION = "2"
"""Must be increased whenever a completion of an older model would get another meaning.

A completion that is only refused now needs no new version: its problem is reported, and the policy is served as before.
"""

TAGS: dict[Route, str] = {"pass": "pass", "disambiguate": "resolve", "decompose": "split"}
_LISTS = f"{TAGS['disambiguate']}|{TAGS['decompose']}"
ORIGINAL = "="
_EXPANSION = f"{ORIGINAL} "

_KINDS: dict[Route, SubQueryKind] = {"disambiguate": "reading", "decompose": "part"}
_ROUTES: dict[str, Route] = {tag: route for route, tag in TAGS.items()}
_POSSESSIVE = re.compile("['\u2019]s?$")
# Control characters and all white space except the space: characters that may end a line or are invisible.
_BANNED = r"\u0000-\u001f\u007f-\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_ASCII_SIGNS = r"!-/:-@\[-`{-~"
_SIGNS = (
    _ASCII_SIGNS
    + r"\u00a1-\u00bf\u2010-\u2027\u2030-\u205e\u00d7\u00f7\u2190-\u2bff\u3001-\u3011\uff01-\uff0f\uff1a-\uff20"
)
_COMPARED = 32
"""Maximum length of a line that is compared with the tags."""


class Parsed(NamedTuple):
    """A parsed completion; ``problem`` describes what could not be parsed."""

    route: Route
    sub_queries: tuple[SubQuery, ...]
    problem: str | None = None


@dataclass(frozen=True)
class Grammar:
    """The grammar of a policy.

    Attributes:
        max_sub_queries: maximum number of sub-queries per query (3 in the paper).
        words: the words that a sub-query may contain beside those that the policy reads; ``None`` allows any word.
    """

    max_sub_queries: int = 3
    words: frozenset[str] | None = None

    @property
    def regex(self) -> str:
        """Regular expression for guided decoding; :meth:`parse` accepts its matches if their words are allowed."""
        return f"({TAGS['pass']}|({_LISTS}){self._lines(_BANNED, _SIGNS)})"

    @property
    def ascii_regex(self) -> str:
        """A looser expression without characters beyond ASCII, for engines that know no others.

        It only fixes the tags and the number of lines; :meth:`parse_tolerantly` reads the rest. An engine takes 20
        seconds to compile limits of length.
        """
        return f"({TAGS['pass']}|({_LISTS}){self._lines('', _ASCII_SIGNS, limited=False)})"

    def _lines(self, banned: str, signs: str, *, limited: bool = True) -> str:
        return f"(\\n({_line(banned, signs, limited)})){{1,{self.max_sub_queries}}}"

    def render(self, route: Route, sub_queries: Iterable[SubQuery], query: Query) -> str:
        """Renders the canonical completion for a route and its sub-queries; the inverse of :meth:`parse`.

        An expansion must consist of the query's text, a space and the added words.

        Raises:
            GrammarError: the grammar cannot express the sub-queries.
        """
        if route == "pass":
            return TAGS["pass"]
        lines = [_written(sub_query, query) for sub_query in sub_queries]
        text = "\n".join([TAGS[route], *lines])
        if not re.fullmatch(self.regex, text):
            raise GrammarError(
                f"{len(lines)} sub-queries {lines!r} cannot be written; there must be 1 to {self.max_sub_queries}, "
                f"each with 1 to {MAX_CHARACTERS} characters."
            )
        return text

    def parse(self, completion: str, query: Query) -> Parsed:
        """Parses a completion strictly; used in training.

        Removes repeated words and sub-queries, and lines of tags. If only the raw query is left, the route is ``pass``.

        Raises:
            GrammarError: the completion does not match the grammar, or it contains a word that is not allowed.
        """
        tag, *lines = completion.split("\n")
        if not re.fullmatch(self.regex, completion):
            tags = f"{TAGS['disambiguate']} or {TAGS['decompose']}"
            raise GrammarError(
                f"{completion[:80]!r} does not match the grammar: {TAGS['pass']} alone, or {tags} and then 1 to "
                f"{self.max_sub_queries} lines of 1 to {MAX_CHARACTERS} characters, without control characters and "
                "without spaces at either end; none of them is a tag."
            )
        if invented := self._invented(lines, query):
            raise GrammarError(
                f"The completion has words that the policy neither read nor has in its list: {', '.join(invented[:3])}."
            )
        return _parsed(_ROUTES[tag], lines, query, self.max_sub_queries)

    def parse_tolerantly(self, completion: str, query: Query) -> Parsed:
        """Parses a completion tolerantly; used in serving. An unusable completion becomes the raw query.

        Ignores case, blank lines, numbering and extra white space; drops lines that are tags, words that are not
        allowed, and sub-queries that are too long or too many.
        ``problem`` describes any deviation from the grammar.
        """
        try:
            return self.parse(completion, query)
        except GrammarError as error:
            problem = str(error)
        lines = [one_line(line) for line in completion.splitlines()]
        tag, *rest = [line for line in lines if line] or [""]
        route = _ROUTES.get(normalised(tag).strip("<>*`#: "), "pass")
        usable = [unnumbered(line) for line in rest]
        invented = set(self._invented(usable, query))
        usable = [" ".join(word for word in words_of(line) if word not in invented) for line in usable]
        usable = [line for line in usable if re.fullmatch(_line(_BANNED, _SIGNS), line)]
        return _parsed(route, [] if route == "pass" else usable, query, self.max_sub_queries)._replace(problem=problem)

    def known_words(self, text: str) -> frozenset[str]:
        """The keys of the words that a sub-query may contain if the policy has a list and reads ``text``."""
        read = set(map(word_key, words_of(text)))
        return (self.words or frozenset()) | read | {_POSSESSIVE.sub("", word) for word in read} | {ORIGINAL}

    def _invented(self, lines: Iterable[str], query: Query) -> list[str]:
        """The words of the lines that are neither read nor in the list of words."""
        if self.words is None:
            return []
        known = self.known_words(text_of(query))
        return [word for line in lines for word in words_of(line) if word_key(word) not in known]


@cache
def _line(banned: str, signs: str, limited: bool = True) -> str:
    """Expression of the lines of a sub-query: no tag, and no space at either end.

    Engines of guided decoding know no lookahead. So a line of up to ``_COMPARED`` characters is read from its first
    letter until it can no longer be a tag; the tags begin with different letters.

    Args:
        banned: characters that no line has, beside the end of a line; as in a class of an expression.
        signs: punctuation, likewise.
        limited: limit the length of a line; otherwise, all lines are read as those of up to ``_COMPARED`` characters.
    """

    def up_to(length: int) -> str:
        return f"{{0,{length}}}" if limited else "*"

    few = up_to(_COMPARED)
    banned += "\\n"
    begun: list[str] = []
    left = [("", f" {signs}{''.join(tag[0] + tag[0].upper() for tag in TAGS.values())}")]
    for tag in TAGS.values():
        written = ""
        for letter in tag:
            either = letter + letter.upper()
            if written:
                begun.append(written)
                left.append((written, either))
            written += f"[{either}]"
        left.append((f"{written}[ {signs}]{few}", f" {signs}"))
    ends = "|".join([*begun, *(f"{start}[^ {banned}{excluded}]" for start, excluded in left)])
    goes_on = "|".join(f"{start}[^{banned}{excluded}]" for start, excluded in left)
    edge = f"[^ {banned}]"
    inner = f"[^{banned}]"
    sign = f"[{signs}]"
    line = (
        f"({sign}[ {signs}]{few})?({ends}|({goes_on}){inner}{up_to(MAX_CHARACTERS - 3 * _COMPARED)}{edge})"
        f"|{sign}([ {signs}]{few}{sign})?"
        f"|{_EXPANSION}({inner}{up_to(MAX_CHARACTERS - 3)}{edge})"
    )
    return f"{line}|{edge}{inner}{{{_COMPARED - 1},{MAX_CHARACTERS - 2}}}{edge}" if limited else line


def repeats_words(completion: str, query: Query) -> bool:
    """Whether a completion has repeated words that the parser drops."""
    lines = [line.removeprefix(_EXPANSION) for line in completion.split("\n")[1:]]
    return any(_canonical(line, query) != line for line in lines)


def _written(sub_query: SubQuery, query: Query) -> str:
    if sub_query.kind == "original":
        return ORIGINAL
    text = one_line(sub_query.text)
    if sub_query.kind == "expansion":
        asked = f"{one_line(query.text)} "
        if not text.startswith(asked):
            raise GrammarError(
                f"The expansion {text!r} cannot be written; it must start with the query {query.text!r}."
            )
        return _EXPANSION + _canonical(text.removeprefix(asked), query)
    if text == ORIGINAL or text.startswith(_EXPANSION):
        raise GrammarError(f"{text!r} cannot be written; it would be parsed as the raw query.")
    return _canonical(text, query)


def _canonical(line: str, query: Query) -> str:
    return each_word_once(line, text_of(query))


def _read(line: str, route: Route, query: Query) -> SubQuery:
    if line.startswith(_EXPANSION):
        words = _canonical(one_line(line.removeprefix(_EXPANSION)), query)
        return SubQuery(f"{query.text} {words}", "expansion")
    return SubQuery(query.text if line == ORIGINAL else _canonical(line, query), _KINDS[route])


def _is_tag(line: str, query: Query) -> bool:
    """Whether a line has no words but tags and numbers, and is not the query itself."""
    named = {word for word in words(folded(compatible(line))) if not word.isdigit()}
    if line.startswith(_EXPANSION) or not named <= _ROUTES.keys():
        return False
    return bool(named) and normalised(line) != normalised(query.text)


def _parsed(route: Route, lines: Iterable[str], query: Query, most: int) -> Parsed:
    original = SubQuery(query.text, "original")
    key = normalised(query.text)
    searched = []
    problem = None
    for line in lines:
        if _is_tag(line, query):
            problem = f"The line {line!r} is a tag, not a sub-query."
        else:
            searched.append(_read(line, route, query))
    sub_queries = distinct(original if normalised(s.text) == key else s for s in searched)[:most]
    if not sub_queries or sub_queries == (original,):
        return Parsed("pass", (original,), problem)
    return Parsed(route, sub_queries, problem)
