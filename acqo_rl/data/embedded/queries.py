"""Generates queries of three kinds; entity, attribute, wording and conversation are drawn at random."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acqo_rl.data.embedded.facts import plain
from acqo_rl.data.embedded.passages import Entity
from acqo_rl.data.embedded.wording import ask, common_phrases, dress, enumerate_names, mention, phrases, plainest

ENTITY_KINDS = ("country",) * 9 + ("city",) * 8 + ("state", "language", "script", "currency", "currency")
PEER_KINDS = ("country",) * 6 + ("city",) * 6 + ("state", "language", "currency")


@dataclass(frozen=True, slots=True)
class Need:
    """One information need: its relevant document and a short self-contained sub-query for it."""

    doc_id: str
    search: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A generated query, with its kind and its needs, which only the evaluation may use."""

    kind: str
    text: str
    needs: tuple[Need, ...]
    history: tuple[str, ...] = ()


class QueryWriter:
    """Generates random queries about the entities of one split.

    Args:
        pool: the entities of the split.
        namesakes: plain lower-case name -> all entities with that name.
        rng: the only source of randomness.
    """

    def __init__(self, pool: Sequence[Entity], namesakes: dict[str, list[Entity]], rng: random.Random) -> None:
        self.rng = rng
        ids = {entity.id for entity in pool}
        self.groups = [group for group in namesakes.values() if group[0].id in ids]
        self.alone = {group[0].id for group in self.groups if len(group) == 1}
        self.by_kind: dict[str, list[Entity]] = defaultdict(list)
        for entity in pool:
            self.by_kind[entity.kind].append(entity)

    def simple(self) -> Asked:
        """A query that fully states one need."""
        if self.rng.random() < 0.12:
            entity = self.rng.choice([e for e in self.by_kind["country"] if " and " in e.name])
        else:
            entity = self._entity()
        attribute = self._attribute(entity)
        name = self._mention(entity)
        text = dress(ask(phrases(entity, attribute), name, self.rng), self.rng)
        history = self._idle_talk(entity) if self.rng.random() < 0.25 else ()
        return Asked("simple", text, (self._need(entity, attribute, name),), history)

    def compound(self) -> Asked:
        """A query that fully states several needs."""
        maker = self.rng.choices(
            [self._one_attribute, self._one_entity, self._several_asks, self._uneven_asks], [24, 4, 57, 15]
        )[0]
        clause, needs = maker()
        history = self._idle_talk() if self.rng.random() < 0.15 else ()
        return Asked("compound", dress(clause, self.rng, elliptic=clause.startswith("compare")), tuple(needs), history)

    def ambiguous(self) -> Asked:
        """A query whose needs depend on the conversation or on the several meanings of a name."""
        makers: list[Callable[[], Asked]] = [
            self._follow_up,
            self._reference,
            self._same_of_another,
            self._both_of_them,
            self._readings,
        ]
        return self.rng.choices(makers, [34, 18, 15, 13, 20])[0]()

    # --- compound -------------------------------------------------------------------------------------------------

    def _one_attribute(self) -> tuple[str, list[Need]]:
        entities = self._peers(self.rng.choice([2, 3, 3]))
        attribute = self._shared_attribute(entities)
        names = [self._mention(entity) for entity in entities]
        words = phrases(entities[0], attribute)
        noun = self.rng.choice(words.nouns)
        listed = enumerate_names(names, self.rng)
        shapes = [
            f"{noun} of {listed}",
            f"compare the {noun} of {listed}",
            f"compare {listed} by {noun}",
            f"{noun}: {listed}",
            self.rng.choice(words.questions).format(listed),
            f"{' vs '.join(names)} {noun}",
            f"{' versus '.join(names)}: {noun}",
            f"how do {listed} differ in {noun}",
            f"difference in {noun} between {listed}",
            f"{listed}: {noun} of each",
        ]
        if words.comparisons:
            comparison = self.rng.choice(words.comparisons)
            either = f"{', '.join(names[:-1])} or {names[-1]}"
            shapes += [f"{comparison}, {either}", f"{either}: {comparison}", f"{comparison}: {either}"]
        needs = [self._need(entity, attribute, name) for entity, name in zip(entities, names, strict=True)]
        return self.rng.choice(shapes), needs

    def _one_entity(self) -> tuple[str, list[Need]]:
        entity = self._entity(("country", "country", "city"))
        attributes = self.rng.sample(sorted(entity.passages), self.rng.choice([2, 2, 3]))
        name = self._mention(entity)
        nouns = [self.rng.choice(phrases(entity, attribute).nouns) for attribute in attributes]
        listed = enumerate_names(nouns, self.rng)
        clause = self.rng.choice(
            [f"{listed} of {name}", f"{name}: {listed}", f"{name} {listed}", f"the {listed} of {name}"]
        )
        return clause, [self._need(entity, attribute, name) for attribute in attributes]

    def _several_asks(self) -> tuple[str, list[Need]]:
        clauses, needs = [], []
        for entity in self._several(self.rng.choice([2, 3, 3, 3, 3])):
            attribute, name = self._attribute(entity), self._mention(entity)
            clauses.append(ask(phrases(entity, attribute), name, self.rng))
            needs.append(self._need(entity, attribute, name))
        joint = self.rng.choice([" and ", ", and ", "? also ", ", plus ", "; ", " and also ", "? and ", ", "])
        return joint.join(clauses), needs

    def _uneven_asks(self) -> tuple[str, list[Need]]:
        """One thing about one entity and two about another."""
        one, other = self._several(2)
        if len(other.passages) < 2:
            return self._uneven_asks()
        attribute, name = self._attribute(one), self._mention(one)
        first, second = self._attributes(other)[:2]
        other_name = self._mention(other)
        listed = " and ".join(self.rng.choice(phrases(other, each).nouns) for each in (first, second))
        clauses = [ask(phrases(one, attribute), name, self.rng), f"the {listed} of {other_name}"]
        needs = [
            self._need(one, attribute, name),
            self._need(other, first, other_name),
            self._need(other, second, other_name),
        ]
        if self.rng.random() < 0.5:
            clauses.reverse()
        return self.rng.choice([" and ", ", and ", ", plus ", "; ", " as well as "]).join(clauses), needs

    # --- ambiguous ------------------------------------------------------------------------------------------------

    def _follow_up(self) -> Asked:
        """A question about the topic of the conversation that does not name it."""
        entity, name = self._named()
        asked, *others = self._attributes(entity)
        earlier = self._remark(entity, name) if self.rng.random() < 0.35 else self._exchange(entity, name, others[0])
        if self.rng.random() < 0.35:
            other = self._other(entity)
            history: tuple[str, ...] = (*self._exchange(other, self._mention(other), self._attribute(other)), *earlier)
        elif self.rng.random() < 0.5 and len(others) > 1:
            history = (*earlier, *self._exchange(entity, self._pronoun(entity), others[1], reference=True))
        else:
            history = earlier
        text = self._elliptic(entity, asked)
        return Asked("ambiguous", text, (self._need(entity, asked, name),), history)

    def _reference(self) -> Asked:
        """A question that refers to one of two entities in the conversation."""
        named = [self._named(), self._named()]
        while named[0][0].name == named[1][0].name:
            named[1] = self._named()
        attributes = [self._attributes(entity) for entity, _ in named]
        history = tuple(
            turn
            for (entity, name), (*_, discussed) in zip(named, attributes, strict=True)
            for turn in self._exchange(entity, name, discussed)
        )
        place = self.rng.randrange(2)
        entity, name = named[place]
        by_order = (
            ("the former", "the first one", "the first of the two"),
            ("the latter", "the second one", "the last one"),
        )
        reference = self.rng.choice(by_order[place])
        if named[0][0].kind != named[1][0].kind and self.rng.random() < 0.7:
            reference = f"{self.rng.choice(['the', 'that'])} {entity.kind}"
        elif entity.kind == "city" and named[1 - place][0].reading != entity.reading and self.rng.random() < 0.7:
            reference = f"the one in {entity.reading}"
        asked = attributes[place][0]
        text = dress(ask(phrases(entity, asked), reference, self.rng, reference=True), self.rng)
        return Asked("ambiguous", text, (self._need(entity, asked, name),), history)

    def _same_of_another(self) -> Asked:
        """A question that only names another entity; the attribute comes from the conversation."""
        other, entity = self._peers(2)
        attribute, name = self._shared_attribute([other, entity]), self._mention(entity)
        history: tuple[str, ...] = self._exchange(other, self._mention(other), attribute)
        if self.rng.random() < 0.3:
            history = (*history, *self._small_talk())
        shapes = ["and {}", "what about {}", "how about {}", "same for {}", "{} too", "and for {}", "now {}", "{} then"]
        text = dress(self.rng.choice(shapes).format(name), self.rng, elliptic=True)
        return Asked("ambiguous", text, (self._need(entity, attribute, name),), history)

    def _both_of_them(self) -> Asked:
        """A question about both entities in the conversation."""
        pair = self._peers(2)
        names = [self._mention(entity) for entity in pair]
        asked = self._shared_attribute(pair)
        history = tuple(
            turn
            for entity, name in zip(pair, names, strict=True)
            for turn in self._exchange(entity, name, self._attribute(entity, but=asked))
        )
        noun = self.rng.choice(phrases(pair[0], asked).nouns)
        shapes = [f"compare their {noun}", f"and the {noun} of both", f"their {noun}", f"{noun} of each of them"]
        shapes += [f"{comparison} of the two" for comparison in phrases(pair[0], asked).comparisons]
        needs = tuple(self._need(entity, asked, name) for entity, name in zip(pair, names, strict=True))
        return Asked("ambiguous", dress(self.rng.choice(shapes), self.rng, elliptic=True), needs, history)

    def _readings(self) -> Asked:
        """A question with an ambiguous name: all meanings are needed, or the one or two that the conversation names."""
        groups = [group for group in self.groups if 1 < len(group) == len({e.reading for e in group})]
        group = self.rng.choices(groups, [len(group) ** 2 for group in groups])[0]
        asked = self.rng.choice(self._shared(group) or [""])
        if not asked or not (words := common_phrases(group, asked)).nouns:
            return self._readings()
        meant, history = group, tuple[str, ...]()
        if len(group) > 2:
            meant = self.rng.sample(group, self.rng.choice([1, 2]))
            places = " and ".join(entity.reading for entity in meant)
            openings = [
                f"I know people in {places}.",
                f"We are visiting {places}.",
                f"My notes are about {places} only.",
            ]
            replies = ["What would you like to know?", "Good, go on.", "Sure, ask away."]
            history = (f"U: {self.rng.choice(openings)}", f"S: {self.rng.choice(replies)}")
        name = plain(group[0].name)
        text = dress(ask(words, name, self.rng), self.rng)
        needs = tuple(
            Need(entity.passages[asked].document.id, plainest(phrases(entity, asked), f"{name} {entity.reading}"))
            for entity in meant
        )
        return Asked("ambiguous", text, needs, history)

    # --- pieces ---------------------------------------------------------------------------------------------------

    def _entity(self, kinds: Sequence[str] = ENTITY_KINDS) -> Entity:
        return self.rng.choice(self.by_kind[self.rng.choice(kinds)])

    def _several(self, number: int) -> list[Entity]:
        return list({entity.name: entity for entity in (self._entity() for _ in range(20))}.values())[:number]

    def _peers(self, number: int) -> list[Entity]:
        kind = self.rng.choice(PEER_KINDS)
        while True:
            peers = self.rng.sample(self.by_kind[kind], number)
            if (
                len({peer.name for peer in peers}) == number
                and self._shared(peers)
                and all(len(peer.passages) > 1 for peer in peers)
            ):
                return peers

    def _named(self) -> tuple[Entity, str]:
        entity = self._entity(("country", "country", "city", "city", "city", "language", "currency"))
        return (entity, self._mention(entity)) if len(entity.passages) > 1 else self._named()

    def _other(self, entity: Entity) -> Entity:
        other = self._entity()
        return other if other.name != entity.name else self._other(entity)

    def _attribute(self, entity: Entity, but: str = "") -> str:
        return self.rng.choice([attribute for attribute in sorted(entity.passages) if attribute != but])

    def _attributes(self, entity: Entity) -> list[str]:
        return self.rng.sample(sorted(entity.passages), len(entity.passages))

    def _shared(self, entities: Sequence[Entity]) -> list[str]:
        return sorted(set.intersection(*(set(entity.passages) for entity in entities)))

    def _shared_attribute(self, entities: Sequence[Entity]) -> str:
        return self.rng.choice(self._shared(entities))

    def _mention(self, entity: Entity) -> str:
        return mention(entity, self.rng, alone=entity.id in self.alone)

    def _need(self, entity: Entity, attribute: str, name: str) -> Need:
        return Need(entity.passages[attribute].document.id, plainest(phrases(entity, attribute), name))

    def _pronoun(self, entity: Entity) -> str:
        return self.rng.choice(["it", f"that {entity.kind}", f"the {entity.kind}", "it"])

    def _elliptic(self, entity: Entity, attribute: str) -> str:
        noun = self.rng.choice(phrases(entity, attribute).nouns)
        shapes = [
            "and its {}",
            "what about the {}",
            "how about its {}",
            "{}",
            "and the {} there",
            "its {}",
            "tell me its {}",
        ]
        if self.rng.random() < 0.5:
            return dress(ask(phrases(entity, attribute), self._pronoun(entity), self.rng, reference=True), self.rng)
        return dress(self.rng.choice(shapes).format(noun), self.rng, elliptic=True)

    def _exchange(self, entity: Entity, name: str, attribute: str, *, reference: bool = False) -> tuple[str, str]:
        """A question and its answer."""
        question = ask(phrases(entity, attribute), name, self.rng, reference=reference)
        answer = " ".join(entity.passages[attribute].answer.split()[:12]).rstrip(",").removesuffix(" and")
        shape = self.rng.choice(["{}.", "It's {}.", "I found {}.", "That would be {}.", "According to my sources: {}."])
        return f"U: {question[0].upper()}{question[1:]}?", f"S: {shape.format(answer)}"

    def _remark(self, entity: Entity, name: str) -> tuple[str, str]:
        """A statement that names the topic of the conversation, and a reply that does not."""
        remarks = ["I'm reading about {}.", "Let's talk about {}.", "I'm writing a page on {}.", "My next topic is {}."]
        replies = ["What would you like to know?", "Sure, ask away.", "Happy to help.", "Good choice, go on."]
        return f"U: {self.rng.choice(remarks).format(name)}", f"S: {self.rng.choice(replies)}"

    def _small_talk(self) -> tuple[str, str]:
        said = self.rng.choice(["Great, thanks.", "Good to know.", "OK, noted.", "Interesting."])
        return f"U: {said}", f"S: {self.rng.choice(['You are welcome.', 'Anything else?', 'Glad to help.'])}"

    def _idle_talk(self, entity: Entity | None = None) -> tuple[str, ...]:
        """A conversation that is unrelated to the query."""
        other = self._other(entity) if entity else self._entity()
        name = self._mention(other)
        history = self._exchange(other, name, self._attribute(other))
        return (*history, *self._small_talk()) if self.rng.random() < 0.3 else history


def group_namesakes(entities: Sequence[Entity]) -> dict[str, list[Entity]]:
    """Entities by plain lower-case name."""
    groups: dict[str, list[Entity]] = defaultdict(list)
    for entity in entities:
        groups[plain(entity.name).lower()].append(entity)
    return dict(groups)
