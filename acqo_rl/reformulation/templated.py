"""Keeps how queries of a template are split: what differs in names and years alone is split alike."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from acqo_rl.reformulation.signals import names
from acqo_rl.reformulation.years import years_in
from acqo_rl.text import normalised, one_line
from acqo_rl.timed_cache import TimedCache
from acqo_rl.types import Query, Reformulation, Reformulator, SubQuery

_OPEN, _CLOSE = "\u27e8", "\u27e9"


@dataclass(frozen=True, slots=True)
class Template:
    """A query with numbered slots in place of its names and years.

    Attributes:
        text: normalised; "Compare rent in Oslo and Rome" is "compare rent in ⟨0⟩ and ⟨1⟩".
        values: what stood in the slots, each once.
    """

    text: str
    values: tuple[str, ...]

    def take_out(self, text: str) -> str:
        """The text with slots in place of the values."""
        longest_first = sorted(self.values, key=len, reverse=True)
        values = "|".join(map(re.escape, longest_first))
        return re.sub(rf"(?<!\w)(?:{values})(?!\w)", lambda m: f"{_OPEN}{self.values.index(m[0])}{_CLOSE}", text)

    def put_in(self, text: str) -> str:
        """The text with the values in place of slots."""
        return re.sub(rf"{_OPEN}(\d+){_CLOSE}", lambda m: self.values[int(m[1])], text)


def template_of(query: Query) -> Template | None:
    """The template of a query; ``None`` for one without names and years, or in a conversation."""
    text = one_line(query.text)
    values = tuple(dict.fromkeys([*names(text), *map(str, years_in(text))]))
    if not values or query.history or query.feedback or _OPEN in text:
        return None
    template = Template("", values)
    return replace(template, text=normalised(template.take_out(text)))


class Templated:
    """A reformulator that asks another one only for queries whose template it has not seen split.

    A split is kept if it says nothing but what its query says: each sub-query holds a name or year of the query, none
    holds another, and all of the query's occur.
    """

    def __init__(self, reformulator: Reformulator, made_with: str, cache: TimedCache[Reformulation]) -> None:
        """Puts a cache of templates before a reformulator.

        Args:
            reformulator: answers what no template does.
            made_with: all that its answers depend on but the query.
            cache: where splits are kept, with slots in their sub-queries.
        """
        self.name = reformulator.name
        self._reformulator = reformulator
        self._made_with = made_with
        self._cache = cache

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position; one by a template has cost no call and no token.

        Of a new template the first query is asked about, and the others only if nothing can be kept of its answer.
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
        return "template", template.text, self._made_with


def _split(answer: Reformulation, template: Template) -> Reformulation | None:
    """The answer with slots, if it is a split that suits every query of the template."""
    parts = [replace(s, text=template.take_out(s.text)) for s in answer.sub_queries if s.kind != "original"]
    used = {slot for part in parts for slot in re.findall(rf"{_OPEN}\d+{_CLOSE}", part.text)}
    suits = all(_OPEN in part.text and not _names_more(part) for part in parts)
    if answer.route != "decompose" or answer.problem or len(parts) < 2 or not suits or len(used) < len(template.values):
        return None
    originals = tuple(s for s in answer.sub_queries if s.kind == "original")
    return replace(answer, sub_queries=(*originals, *parts))


def _names_more(part: SubQuery) -> bool:
    """Whether a part holds a name or year that is no slot; a capital at its beginning makes no name."""
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
        reasoning="Split as a query of the same template was",
    )
