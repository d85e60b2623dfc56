"""Writes bridge questions about the embedded corpus: the archive of the data set ``embedded_bridge``.

    python benchmarks/bridge_questions.py --output acqo_rl/data/embedded_bridge.zip

A bridge question needs two or three linked passages, and names only what the first one is about: "What is the currency
code of the money of Albania?" All passages of its chain are relevant. The splits train-bridge, dev-bridge and
test-bridge also have the queries of train, dev and test. They share neither entities nor wording of bridge questions.
"""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml
from turning_conversations import SPLITS
from turning_conversations import WORDING as QUESTIONS

from acqo_rl.cli import command
from acqo_rl.data.beir import read_beir, write_beir
from acqo_rl.data.draw import split_by_hash
from acqo_rl.data.importer import write_embedded
from acqo_rl.types import Document, Qrels, Query

LINKS = yaml.safe_load(Path(__file__).parent.joinpath("questions/bridge.yaml").read_text("utf-8"))
RELATIONS = {**QUESTIONS["relations"], "currency-codes": LINKS.pop("codes")}
TEMPLATES = [
    [one for one in some if one.endswith(("{e}.", "{e}?", "{e}", "{e}, please."))] for some in QUESTIONS["question"]
]
NAME = re.compile(r"^(?:[A-Z][a-z]+(?: [a-z]+)* of )?(.+?)(?: language)?(?:: .+)?$")
THREE = 0.3
"""Share of the questions with three passages, where there is a second link."""
README = """\
- The splits `train-bridge`, `dev-bridge` and `test-bridge` have the queries of `train`, `dev` and `test`, and bridge
  queries. These need two or three linked passages, and name only what the first one is about. Their entities and
  wording differ between the three splits.
"""


@dataclass
class BridgeConfig:
    """Settings of this script."""

    output: str = field(metadata={"help": "Archive to write."})
    train: int = field(default=750, metadata={"help": "Number of bridge questions in train-bridge."})
    dev: int = field(default=150, metadata={"help": "Number of bridge questions in dev-bridge."})
    test: int = field(default=200, metadata={"help": "Number of bridge questions in test-bridge."})
    seed: int = field(default=0, metadata={"help": "Seed of all draws."})


class Entity(NamedTuple):
    """What passages are about: a country, city, language or currency, with its passage for each relation."""

    id: str
    name: str
    passages: dict[str, Document]


class Link(NamedTuple):
    """A passage that leads from what a question names to an entity."""

    kind: str
    named: str
    passage: Document
    source: Entity
    target: Entity


def main(config: BridgeConfig) -> None:
    """Writes the archive."""
    with TemporaryDirectory() as folder:
        write_embedded(folder)
        data = read_beir(folder, *SPLITS)
        kept = [Path(folder, name).read_text("utf-8") for name in ("queries.jsonl", "README.md")]
    entities = entities_of(data.corpus.values())
    judged = {doc_id: split for split in SPLITS for gold in data.qrels[split].values() for doc_id in gold}
    asked = {doc_id.rpartition("-")[0]: split for doc_id, split in judged.items()}
    links = list(links_of(entities))
    queries: list[Query] = []
    metadata: dict[str, dict[str, object]] = {}
    qrels: dict[str, Qrels] = {f"{split}-bridge": dict(data.qrels[split]) for split in SPLITS}
    for place, split in enumerate(SPLITS):
        mine = {one.id for one in entities if (asked.get(one.id) or split_by_hash(one.id)) == split}
        there = [one for one in links if {one.source.id, one.target.id} <= mine]
        made = questions(there, place, random.Random(f"{config.seed} {split}"))
        for number in range(getattr(config, split)):
            text, chain = next(made)
            queries.append(Query(f"{split}-bridge-{number:04}", text))
            qrels[f"{split}-bridge"][queries[-1].id] = {document.id: 1 for document in chain}
            metadata[queries[-1].id] = {"kind": "bridge", "needs": len(chain)}
    with TemporaryDirectory() as folder:
        write_beir(folder, [], queries, qrels, metadata)
        Path(folder, "corpus.jsonl").unlink()
        new = Path(folder, "queries.jsonl")
        new.write_text(kept[0] + new.read_text("utf-8"), "utf-8")
        Path(folder, "README.md").write_text(kept[1].replace("\n\n## Sources", f"\n{README}\n## Sources"), "utf-8")
        shutil.make_archive(config.output.removesuffix(".zip"), "zip", folder)
    print(f"{config.output}: {len(queries):,} bridge questions")


def entities_of(documents: Iterable[Document]) -> list[Entity]:
    """The entities of the corpus that have the same name in all titles."""
    found: dict[str, dict[str, Document]] = defaultdict(dict)
    for document in documents:
        entity, _, relation = document.id.rpartition("-")
        found[entity][relation] = document
    names = {key: {NAME.sub(r"\1", one.title) for one in passages.values()} for key, passages in found.items()}
    return [Entity(key, names[key].pop(), passages) for key, passages in found.items() if len(names[key]) == 1]


def links_of(entities: Sequence[Entity]) -> Iterator[Link]:
    """All links with a single target; what a question names is unique among those of a kind."""
    by_name: dict[tuple[str, str], list[Entity]] = defaultdict(list)
    for one in entities:
        by_name[one.id.split("-")[0], one.name].append(one)
    found: dict[tuple[str, str], list[Link]] = defaultdict(list)
    for kind, form in LINKS.items():
        source_kind, relation = form["passage"].split("-")
        for one in entities:
            if one.id.split("-")[0] != source_kind or relation not in one.passages:
                continue
            if matched := re.search(form["text"], one.passages[relation].text):
                text = next(filter(None, matched.groups()))
                names = {one.name} if "to" not in form else {text, f"{text}, {one.name.split(', ')[-1]}"}
                targets = [end for name in names for end in by_name[form.get("to", source_kind), name]]
                named = text if "to" not in form else one.name
                if len(targets) == 1:
                    found[kind, named].append(Link(kind, named, one.passages[relation], one, targets[0]))
    for links in found.values():
        if len(links) == 1:
            yield links[0]


def questions(links: Sequence[Link], place: int, drawn: random.Random) -> Iterator[tuple[str, list[Document]]]:
    """Different questions of one split, each with its chain of passages; all kinds of links are as frequent.

    Args:
        links: of the entities of the split.
        place: of the split in the lists of wording.
        drawn: draws links, relations and wording.
    """
    made = set()
    by_kind = [some for kind in LINKS if (some := [link for link in links if link.kind == kind])]
    while True:
        chain = [drawn.choice(drawn.choice(by_kind))]
        further = [link for link in links if link.source == chain[0].target and link.kind in ("currency", "largest")]
        if further and drawn.random() < THREE:
            chain.append(drawn.choice(further))
        end = chain[-1].target
        relations = {key: phrases for key, phrases in RELATIONS.items() if key.split("-")[0] == end.id.split("-")[0]}
        key = drawn.choice(sorted(relations))
        last = end.passages.get(key.split("-")[1])
        what = chain[0].named
        for link in chain:
            what = drawn.choice(LINKS[link.kind]["wording"][place]).format(what)
        text = drawn.choice(TEMPLATES[place]).format(r=drawn.choice(relations[key][place]), e=what)
        passages = [link.passage for link in chain]
        if not last or last in passages or (*passages, last) in made:
            continue
        if end.id.startswith("currency") and end.id[-3:] in passages[-1].text:  # the code is known without the hop
            continue
        hidden = {word[:4] for link in chain for word in words(link.target.name)}
        if hidden & {word[:4] for word in words(what)} or words(chain[0].named) & words(last.text):
            continue
        made.add((*passages, last))
        yield text, [*passages, last]


def words(text: str) -> set[str]:
    """The words in lower case, without "the" and the like."""
    return {word for word in re.findall(r"[\w.+]+", text.lower()) if len(word.strip(".+")) > 1} - {"the", "of", "and"}


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
