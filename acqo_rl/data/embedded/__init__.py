"""The embedded data set: a BEIR folder generated from real facts that PyPI packages carry."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from acqo_rl.data.beir import write_atomic, write_beir
from acqo_rl.data.embedded.facts import load_facts
from acqo_rl.data.embedded.passages import Entity, write_entities
from acqo_rl.data.embedded.queries import Asked, Asker, group_namesakes
from acqo_rl.types import Qrels, Query

QUERIES = {"train": 1500, "dev": 300, "test": 500}
KINDS = {"simple": 0.4, "ambiguous": 0.3, "compound": 0.3}


def write_embedded(folder: str | Path, seed: int = 0) -> None:
    """Writes the embedded set as a BEIR folder with a README that names sources and licences.

    The same seed and the same package versions give the same bytes. ``metadata`` of a query holds ``kind`` (simple,
    ambiguous, compound), ``needs`` (number of independent needs or readings) and ``oracle`` (one self-contained
    search a need); only evaluation may read them.
    """
    entities = write_entities(load_facts(), random.Random(f"passages-{seed}"))
    queries: list[Query] = []
    metadata: dict[str, dict[str, object]] = {}
    qrels: dict[str, Qrels] = {}
    for split, pool in _split(entities, random.Random(f"split-{seed}")).items():
        asked = _ask(Asker(pool, group_namesakes(entities), random.Random(f"{split}-{seed}")), QUERIES[split])
        for number, item in enumerate(asked):
            query = Query(f"{split}-{number:04d}", item.text, item.history)
            queries.append(query)
            metadata[query.id] = {
                "kind": item.kind,
                "maker": item.maker,
                "needs": len(item.needs),
                "oracle": [need.search for need in item.needs],
            }
            qrels.setdefault(split, {})[query.id] = {need.doc_id: 1 for need in item.needs}
    documents = [passage.document for entity in entities for passage in entity.passages.values()]
    write_beir(folder, documents, queries, qrels, metadata)


def _split(entities: list[Entity], rng: random.Random) -> dict[str, list[Entity]]:
    """Entities by split, in proportion to its queries; namesakes stay together, every kind is in every split."""
    strata: dict[tuple[str, bool, int], list[list[Entity]]] = defaultdict(list)
    for group in group_namesakes(entities).values():
        strata[group[0].kind, " and " in group[0].name, len(group)].append(group)
    pools: dict[str, list[Entity]] = {split: [] for split in QUERIES}
    total = sum(QUERIES.values())
    for groups in strata.values():
        rng.shuffle(groups)
        start = 0.0
        for split, number in QUERIES.items():
            end = start + len(groups) * number / total
            pools[split] += [entity for group in groups[round(start) : round(end)] for entity in group]
            start = end
    return pools


def _ask(asker: Asker, number: int) -> list[Asked]:
    """``number`` different queries in mixed order, the kinds in the shares of ``KINDS``."""
    makers: dict[str, Callable[[], Asked]] = {
        "simple": asker.simple,
        "ambiguous": asker.ambiguous,
        "compound": asker.compound,
    }
    asked: dict[tuple[str, tuple[str, ...]], Asked] = {}
    goal = 0
    for kind, share in KINDS.items():
        goal += round(number * share)
        while len(asked) < goal:
            item = makers[kind]()
            asked.setdefault((item.text, item.history), item)
    mixed = list(asked.values())
    asker.rng.shuffle(mixed)
    return mixed
