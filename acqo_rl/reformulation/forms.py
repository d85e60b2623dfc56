"""Decompositions by the form of a query: one that differs from an earlier one in names and numbers is split alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from acqo_rl.reformulation.signals import names
from acqo_rl.text import normalised, one_line
from acqo_rl.timed_cache import TimedCache
from acqo_rl.types import Query, Reformulation, Reformulator

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)")
_SLOT = re.compile(r"\{(\d+)\}")


@dataclass(frozen=True, slots=True)
class Form:
    """A query with slots in place of its names and numbers, and what stands in them."""

    key: str
    values: tuple[str, ...]


class ByForm:
    """A reformulator that is not asked for queries of a form that it has split before (S0-36).

    What is kept is a decomposition all of whose parts are made of the query's names and numbers and of words that
    are neither: then other names fit as well. Readings hang on the name itself, and a query in a conversation or with
    feedback on more than its form: those are always asked.
    """

    def __init__(self, reformulator: Reformulator, cache: TimedCache[Reformulation]) -> None:
        """Puts the forms before a reformulator.

        Args:
            reformulator: asked for queries of an unknown form.
            cache: of its own, since an answer is that of one reformulator.
        """
        self.name = reformulator.name
        self._reformulator = reformulator
        self._cache = cache

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position; one by its form has cost no call and no token."""
        forms = [form_of(query) for query in queries]
        known = [self._cache.get(form.key) if form else None for form in forms]
        unknown = [i for i, split in enumerate(known) if split is None]
        made = iter(self._reformulator.reformulate([queries[i] for i in unknown]) if unknown else [])
        return [
            _filled(split, form, query) if split and form else self._keep(next(made), form)
            for split, form, query in zip(known, forms, queries, strict=True)
        ]

    def _keep(self, answer: Reformulation, form: Form | None) -> Reformulation:
        if form and (split := _with_slots(answer, form)):
            self._cache.put(form.key, split)
        return answer


def form_of(query: Query) -> Form | None:
    """The form of a query; ``None`` where it has no name or number, or is more than its text."""
    text = one_line(query.text)
    values = _values(text)
    if not values or query.history or query.feedback or "{" in text:
        return None
    return Form(normalised(_slotted(text, values)), values)


def _values(text: str) -> tuple[str, ...]:
    """Names and numbers in the order in which they first stand in the text."""
    found = dict.fromkeys([*names(text), *_NUMBER.findall(text)])
    return tuple(sorted(found, key=text.index))


def _slotted(text: str, values: Sequence[str]) -> str:
    longest_first = sorted(values, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda m: f"{{{values.index(m.group())}}}", text)


def _with_slots(answer: Reformulation, form: Form) -> Reformulation | None:
    """The answer with slots, ``None`` where it fits its query alone."""
    if answer.route != "decompose" or answer.problem or any("{" in s.text for s in answer.sub_queries):
        return None
    if {s.kind for s in answer.sub_queries} - {"part", "original"}:
        return None
    split = tuple(replace(s, text=_slotted(s.text, form.values)) for s in answer.sub_queries)
    parts = [s.text for s in split if s.kind == "part"]
    used = {int(slot) for part in parts for slot in _SLOT.findall(part)}
    if len(used) < len(form.values) or any(_values(_SLOT.sub("", part)) for part in parts):
        return None
    return replace(answer, sub_queries=split)


def _filled(split: Reformulation, form: Form, query: Query) -> Reformulation:
    sub_queries = tuple(
        replace(
            s, text=query.text if s.kind == "original" else _SLOT.sub(lambda m: form.values[int(m.group(1))], s.text)
        )
        for s in split.sub_queries
    )
    return replace(
        split,
        query=query,
        sub_queries=sub_queries,
        completion="",
        tokens=0,
        calls=0,
        reasoning="Split as an earlier query that differs in names and numbers alone",
    )
