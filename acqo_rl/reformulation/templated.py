"""Caches decompositions by template: queries that differ only in names and years are split in the same way."""

import re
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.reformulation.lexicon import MARK, Lexicon, marks_of, with_marks, without_marks
from acqo_rl.roles import Reformulator
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Query, Reformulation, SubQuery

_NAMES = Lexicon()
_MOST = 1000
"""Maximum number of cached templates."""


class Templated(Reformulator):
    """A reformulator that calls another one only for queries whose template is not cached.

    A decomposition is cached if it fits all queries of the template: each sub-query has a name or year of the query,
    none has any other name or year, and all of the query's names and years occur.
    """

    def __init__(self, reformulator: Reformulator) -> None:
        """Adds a cache of templates to a reformulator, which is called for queries without a cached template."""
        self.name = reformulator.name
        self.max_calls = reformulator.max_calls
        self.feedback = reformulator.feedback
        self._reformulator = reformulator
        self._splits: dict[str, tuple[SubQuery, ...]] = {}

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; those from a template have 0 calls and 0 tokens."""
        marks = [_marks(query) for query in queries]
        templates = [normalised(with_marks(one_line(q.text), m)) for q, m in zip(queries, marks, strict=True)]
        asked = [i for i, template in enumerate(templates) if not marks[i] or template not in self._splits]
        answers = {i: self._filled(queries[i], templates[i], marks[i]) for i in range(len(queries)) if i not in asked}
        made = self._reformulator.reformulate([queries[i] for i in asked]) if asked else []
        for i, answer in zip(asked, made, strict=True):
            answers[i] = answer
            if answer.route == "decompose" and not answer.problem and (parts := _parts(answer, marks[i])):
                if len(self._splits) >= _MOST:
                    self._splits.clear()
                self._splits[templates[i]] = parts
        return [answers[i] for i in range(len(queries))]

    def _filled(self, query: Query, template: str, marks: dict[str, str]) -> Reformulation:
        filled = tuple(
            replace(part, text=query.text if part.kind == "original" else without_marks(part.text, marks))
            for part in self._splits[template]
        )
        reasoning = "Split like an earlier query with the same template"
        return Reformulation(query, "decompose", filled, self.name, reasoning=reasoning)


def _marks(query: Query) -> dict[str, str]:
    """The names and years of a query; empty if it has a history, feedback or characters that serve as marks."""
    text = one_line(query.text)
    return {} if query.history or query.feedback or re.search(MARK, text) else marks_of(text, _NAMES)


def _parts(answer: Reformulation, marks: dict[str, str]) -> tuple[SubQuery, ...]:
    """The sub-queries with marks; empty if they do not fit every query of the template."""
    parts = [s if s.kind == "original" else replace(s, text=with_marks(s.text, marks)) for s in answer.sub_queries]
    own = [part.text for part in parts if part.kind != "original"]
    # the first word of a part may have a capital letter without being a name
    more = any(marks_of(text[:1].lower() + re.sub(MARK, "", text[1:]), _NAMES) for text in own)
    is_complete = {mark for text in own for mark in re.findall(MARK, text)} == set(marks)
    return tuple(parts) if len(own) > 1 and is_complete and not more and all(re.search(MARK, t) for t in own) else ()
