"""Writes a BEIR folder of conversations that turn to something else, reject something or choose from a list.

    python benchmarks/turning_conversations.py --output_dir outputs/turning

The corpus is that of the embedded data. Kinds of queries:

``switch``: a self-contained question after talk about something else.
``rejection``: "a different one, not Peru"; the others that the conversation names are relevant.
``choice``: "the third one", "the latter" or "2" after a list; the chosen one is relevant.

The splits train, dev and test share neither entities nor wording. ``metadata.searches`` has the searches to write.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from acqo_rl.cli import command
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.data.draw import split_by_hash
from acqo_rl.data.importer import write_embedded
from acqo_rl.types import Document, Qrels, Query, Turn

SPLITS = ("train", "dev", "test")
WORDING = yaml.safe_load(Path(__file__).parent.joinpath("questions/turning.yaml").read_text("utf-8"))
ORDINALS = ("first", "second", "third", "fourth", "fifth")
Made = tuple[str, list[Turn], list[Document], list[str]]
"""Text and history of a query, its relevant documents, and the searches to write."""


@dataclass
class TurningConfig:
    """Settings of this script."""

    output_dir: str = field(metadata={"help": "BEIR folder to write."})
    train: int = field(default=1200, metadata={"help": "Number of training queries."})
    held_out: int = field(default=300, metadata={"help": "Number of dev queries, and of test queries."})
    seed: int = field(default=0, metadata={"help": "Seed of all draws."})


@dataclass(frozen=True)
class Entity:
    """A country or a city, with the id of its document for each relation."""

    name: str
    facts: Mapping[str, Document]


def main(config: TurningConfig) -> None:
    """Writes the folder."""
    write_embedded(config.output_dir)
    for file in Path(config.output_dir, "qrels").iterdir():
        file.unlink()
    corpus = read_corpus(config.output_dir)
    entities = entities_of(corpus.values())
    queries: list[Query] = []
    qrels: dict[str, Qrels] = {split: {} for split in SPLITS}
    metadata: dict[str, dict[str, object]] = {}
    for split in SPLITS:
        says = Wording(split, random.Random(f"{config.seed} {split}"))
        named = [entity for entity in entities if split_by_hash(entity.name) == split]
        for number in range(config.train if split == "train" else config.held_out):
            make = (switch, rejection, choice)[number % 3]
            kind, (text, history, relevant, searches) = make.__name__, make(says, named)
            queries.append(Query(f"{kind}-{split}-{number}", text, tuple(history)))
            qrels[split][queries[-1].id] = {document.id: 1 for document in relevant}
            metadata[queries[-1].id] = {"kind": kind, "searches": searches}
    write_beir(config.output_dir, corpus.values(), queries, qrels, metadata)
    print(f"{config.output_dir}: {len(corpus):,} documents, {len(queries):,} queries")


def entities_of(documents: Iterable[Document]) -> list[Entity]:
    """The countries and cities of the embedded corpus that have the same name in all titles."""
    found: dict[tuple[str, str], dict[str, Document]] = defaultdict(dict)
    for document in documents:
        kind, number, relation = document.id.split("-")
        if f"{kind}-{relation}" in WORDING["relations"]:
            found[kind, number][relation] = document
    name = r"^(?:[A-Z][a-z]+(?: [a-z]+)* of )?(.+?)(?:: .+)?$"
    named = [({re.sub(name, r"\1", one.title) for one in facts.values()}, facts) for facts in found.values()]
    return [Entity(names.pop(), facts) for names, facts in named if len(names) == 1]


class Wording:
    """Draws entities, and templates of one split."""

    def __init__(self, split: str, drawn: random.Random) -> None:
        self.drawn = drawn
        self._place = SPLITS.index(split)

    def of(self, name: str, **values: str) -> str:
        """One of the templates of a name, with its values."""
        text: str = self.drawn.choice(WORDING[name][self._place])
        return text.format(**values)

    def several(self, entities: Sequence[Entity], most: int) -> tuple[list[Entity], str, str]:
        """Two or more entities of one kind, a relation that all have, and a phrase for it."""
        kind = self.drawn.choice(["country", "city"])
        some = [one for one in entities if next(iter(one.facts.values())).id.startswith(kind)]
        some = self.drawn.sample(some, self.drawn.randint(2, most))
        common = sorted(set.intersection(*(set(one.facts) for one in some)))
        relation = self.drawn.choice(common)
        phrases = WORDING["relations"][f"{kind}-{relation}"][self._place]
        return some, relation, self.drawn.choice(phrases)

    def listed(self, entities: Sequence[Entity]) -> str:
        """The names as a list in a sentence."""
        if self.drawn.random() < 0.5:
            return " ".join(f"{place}. {one.name}" for place, one in enumerate(entities, start=1))
        *names, last = [one.name for one in entities]
        return f"{'; '.join(names) if any(',' in name for name in names) else ', '.join(names)} and {last}"

    def facts_about(self, entities: Sequence[Entity]) -> list[Turn]:
        """A question about one entity, and the answer."""
        (one, *_), relation, phrase = self.several(entities, 2)
        return exchange(self.of("question", r=phrase, e=one.name), answer(one.facts[relation]))


def switch(says: Wording, entities: Sequence[Entity]) -> Made:
    """A complete question after up to three exchanges about something else."""
    history: list[Turn] = []
    for _ in range(says.drawn.randint(1, 3)):
        talk = exchange(*says.of("talk").split("|")) if says.drawn.random() < 0.4 else says.facts_about(entities)
        history += talk
    said = " ".join(turn.text for turn in history)
    others = [one for one in entities if one.name.split(",")[0] not in said]
    (one, *_), relation, phrase = says.several(others, 2)
    return (
        f"{says.of('opener')} {says.of('question', r=phrase, e=one.name)}".strip(),
        history,
        [one.facts[relation]],
        [],
    )


def rejection(says: Wording, entities: Sequence[Entity]) -> Made:
    """One of the entities of the conversation is rejected; the others are asked about."""
    some, relation, phrase = says.several(entities, 4)
    no, *others = says.drawn.sample(some, len(some))
    form = says.drawn.choice(["reject", "reject_shortly", "replace"])
    asked = says.of("plan" if form == "reject" else "request", r=phrase)
    history = exchange(asked, says.of("offer", list=says.listed(some)))
    if form == "replace":
        history = exchange(says.of("question", r=phrase, e=no.name), answer(no.facts[relation]))
        others = others[:1]
    text = says.of(form, r=phrase, e=no.name, f=others[0].name)
    wanted = [one for one in some if one in others]
    return text, history, [one.facts[relation] for one in wanted], [f"{one.name} {phrase}" for one in wanted]


def choice(says: Wording, entities: Sequence[Entity]) -> Made:
    """One entity of a list is chosen by its place."""
    some, relation, phrase = says.several(entities, 5)
    place = says.drawn.randrange(len(some))
    form = says.drawn.choice(["choose", "choose_shortly"])
    asked = says.of("plan" if form == "choose" else "request", r=phrase)
    history = exchange(asked, says.of("offer", list=says.listed(some)))
    order = "last" if place == len(some) - 1 and says.drawn.random() < 0.3 else ORDINALS[place]
    order = ("former", "latter")[place] if len(some) == 2 and says.drawn.random() < 0.5 else order
    text = says.of(form, r=phrase, o=order, n=str(place + 1))
    text = re.sub("(former|latter) one", r"\1", text)
    return text, history, [some[place].facts[relation]], [f"{some[place].name} {phrase}"]


def exchange(asked: str, said: str) -> list[Turn]:
    """A turn of the user and one of the assistant."""
    return [Turn("user", asked), Turn("assistant", said)]


def answer(document: Document) -> str:
    """The first sentence of a passage."""
    return re.split(r"(?<=[a-z)0-9]\.) ", document.text)[0]


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
