"""Writes passages about the facts: one per entity and attribute."""

from __future__ import annotations

import random
from dataclasses import dataclass

from acqo_rl.data.embedded.drafts import Draft, drafts_of
from acqo_rl.data.embedded.facts import Facts
from acqo_rl.types import Document


@dataclass(frozen=True, slots=True)
class Passage:
    """A document and the short answer to a question about it."""

    answer: str
    document: Document


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that can be asked about.

    Attributes:
        id: such as ``country-PE``. Entities with the same plain name are namesakes.
        kind: ``country``, ``city``, ``state``, ``language``, ``script`` or ``currency``.
        name: name in the sources.
        reading: distinguishes the entity from its namesakes: a country, a state, or the kind of entity.
        passages: attribute -> passage.
    """

    id: str
    kind: str
    name: str
    reading: str
    passages: dict[str, Passage]


def write_entities(facts: Facts, rng: random.Random) -> list[Entity]:
    """Creates all entities with their passages; ``rng`` chooses titles, openings and lengths."""
    entities = [_entity("country", c.code, c.name, "country", drafts_of("country", c), rng) for c in facts.countries]
    entities += [_entity("city", c.id, c.name, c.region, drafts_of("city", c), rng) for c in facts.cities]
    entities += [_entity("state", s.code, s.name, "state", drafts_of("state", s), rng) for s in facts.states]
    for kind, place, coded in (
        ("language", 1, facts.languages),
        ("script", 0, facts.scripts),
        ("currency", 0, facts.currencies),
    ):
        entities += [_entity(kind, c.codes[place], c.name, kind, drafts_of(kind, c), rng) for c in coded]
    return entities


def _entity(kind: str, code: str, name: str, reading: str, drafts: dict[str, Draft], rng: random.Random) -> Entity:
    subject = f"{name}, {reading}" if kind == "city" else f"{name} {kind}" if kind in ("language", "script") else name
    passages = {}
    for attribute, draft in drafts.items():
        title = rng.choice([subject, f"{subject}: {draft.aspect}", f"{draft.aspect.capitalize()} of {subject}"])
        more = rng.sample(draft.more, rng.randint(0, len(draft.more)))
        text = " ".join([rng.choice(draft.openings), *more])
        passages[attribute] = Passage(draft.answer, Document(f"{kind}-{code}-{attribute}", title, text))
    return Entity(f"{kind}-{code}", kind, name, reading, passages)
