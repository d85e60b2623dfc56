"""Caches decompositions by template: queries that differ only in names and years are split in the same way."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from acqo_rl.reformulation.names import names
from acqo_rl.reformulation.signals import years_in
from acqo_rl.roles import Reformulator
from acqo_rl.text import normalised, one_line
from acqo_rl.timed_cache import TimedCache
from acqo_rl.types import Query, Reformulation, SubQuery

_OPEN, _CLOSE = "\u27e8", "\u27e9"


@dataclass(frozen=True, slots=True)
class Template:
    """A query with numbered slots in place of its names and years.

    Attributes:
        text: normalised text; "Compare rent in Oslo and Rome" gives "compare rent in ⟨0⟩ and ⟨1⟩".
        values: the distinct names and years of the slots.
    """

    text: str
    values: tuple[str, ...]

    def take_out(self, text: str) -> str:
        """Replaces the values in a text by slots."""
        longest_first = sorted(self.values, key=len, reverse=True)
        values = "|".join(map(re.escape, longest_first))
        return re.sub(rf"(?<!\w)(?:{values})(?!\w)", lambda m: f"{_OPEN}{self.values.index(m[0])}{_CLOSE}", text)

    def put_in(self, text: str) -> str:
        """Replaces the slots in a text by the values."""
        return re.sub(rf"{_OPEN}(\d+){_CLOSE}", lambda m: self.values[int(m[1])], text)


def template_of(query: Query) -> Template | None:
    """The template of a query; ``None`` if it has no names and years, or has a history or feedback."""
    text = one_line(query.text)
    values = tuple(dict.fromkeys([*names(text), *map(str, years_in(text))]))
    if not values or query.history or query.feedback or _OPEN in text:
        return None
    template = Template("", values)
    return replace(template, text=normalised(template.take_out(text)))


class Templated(Reformulator):
    """A reformulator that calls another one only for queries whose template is not cached.

    A decomposition is cached if it fits all queries of the template: each sub-query contains a name or year of the
    query, no sub-query contains any other name or year, and all of the query's names and years occur.
    """

    def __init__(self, reformulator: Reformulator, cache_key: str, cache: TimedCache[Reformulation]) -> None:
        """Adds a cache of templates to a reformulator.

        Args:
            reformulator: called for queries without a cached template.
            cache_key: cache key of everything except the query that affects the results.
            cache: stores decompositions with slots in their sub-queries.
        """
        self.name = reformulator.name
        self.feedback = reformulator.feedback
        self._reformulator = reformulator
        self._cache_key = cache_key
        self._cache = cache

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; those from a template have 0 calls and 0 tokens.

        For a new template, the reformulator is called with the first query of the batch; it is called with the others
        only if the result cannot be cached.
        """
        templates = [template_of(query) for query in queries]
        place = {template.text: i for i, template in reversed(list(enumerate(templates))) if template}
        first = [i for i, template in enumerate(templates) if template is None or place[template.text] == i]
        answers: dict[int, Reformulation] = {}
        for positions in (first, sorted(set(range(len(queries))) - set(first))):
            for i in positions:
                template = templates[i]
                if template and (split := self._cache.get(self._key(template))):
                    answers[i] = _filled(split, template, queries[i])
            asked = [i for i in positions if i not in answers]
            made = self._reformulator.reformulate([queries[i] for i in asked]) if asked else []
            for i, answer in zip(asked, made, strict=True):
                self._keep(answer, templates[i])
                answers[i] = answer
        return [answers[i] for i in range(len(queries))]

    def _keep(self, answer: Reformulation, template: Template | None) -> None:
        if template and (split := _split(answer, template)):
            self._cache.put(self._key(template), split)

    def _key(self, template: Template) -> Hashable:
        return "template", template.text, self._cache_key


def _split(answer: Reformulation, template: Template) -> Reformulation | None:
    """The reformulation with slots, if it is a decomposition that fits every query of the template."""
    parts = [replace(s, text=template.take_out(s.text)) for s in answer.sub_queries if s.kind != "original"]
    used = {slot for part in parts for slot in re.findall(rf"{_OPEN}\d+{_CLOSE}", part.text)}
    suits = all(_OPEN in part.text and not _names_more(part) for part in parts)
    if answer.route != "decompose" or answer.problem or len(parts) < 2 or not suits or len(used) < len(template.values):
        return None
    originals = tuple(s for s in answer.sub_queries if s.kind == "original")
    return replace(answer, sub_queries=(*originals, *parts))


def _names_more(part: SubQuery) -> bool:
    """Whether a part contains a name or year outside the slots; its capitalised first word is not a name."""
    text = part.text[:1].lower() + part.text[1:]
    return bool(names(text) or years_in(text))


def _filled(split: Reformulation, template: Template, query: Query) -> Reformulation:
    sub_queries = tuple(
        replace(s, text=query.text if s.kind == "original" else template.put_in(s.text)) for s in split.sub_queries
    )
    return replace(
        split,
        query=query,
        sub_queries=sub_queries,
        completion="",
        tokens=0,
        calls=0,
        reasoning="Split like an earlier query with the same template",
    )
