"""Merges BEIR folders into one, to train one policy on all of them or to search all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acqo_rl.data.beir import read_beir, read_splits, write_beir
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.files import write_atomic
from acqo_rl.types import Document, Qrels, Query

_JOINED = "joined"
_LINKS = (" and ", ", and ", ", and also ", ", plus ", "; ", "? ")
_OPENING = "what when where which who whom whose why how is are was were do does did can the in"
_OPENERS = frozenset(_OPENING.split())


def write_union(
    folder: str | Path,
    sources: Sequence[str | Path],
    *,
    limits: Sequence[int] = (),
    joined: Sequence[int] = (),
    seed: int = 0,
    command: str = "",
) -> None:
    """Writes one BEIR folder with the corpora of all sources and their train and dev queries, if they have any.

    Ids get the name of their folder as a prefix. The name is also the ``kind`` of each query, so that an evaluation
    reports each source separately. The output is deterministic for the same folders and settings.

    Args:
        folder: output folder.
        sources: BEIR folders with different names.
        limits: maximum number of train queries per source, drawn at random: one number for all sources or one for
            each; by default all queries are used. Each source with a dev split gives the same number of dev queries,
            that of the smallest one, so that all sources have equal weight when a checkpoint is chosen.
        joined: number of compound queries to add for each source; none by default. A compound query joins two train
            queries in one sentence and needs the passages of both. Dev gets compound queries too. They have their own
            ``kind``.
        seed: seed of the random choices.
        command: command that writes the folder, for its README.

    Raises:
        ConfigError: there is no source, two sources have the same name, ``limits`` or ``joined`` has the wrong length
            or a value out of range, or ``joined`` is set for a source with conversations.
        DataError: a source is malformed, or a query is in both train and dev.
    """
    paths = {Path(source).resolve().name: Path(source) for source in sources}
    if not paths or len(paths) < len(sources):
        given = ", ".join(map(str, sources)) or "nothing"
        raise ConfigError(f"The sources of the union are {given}; give folders with different names.")
    numbers = len(paths)
    if len(limits) not in (0, 1, numbers) or any(limit < 1 for limit in limits):
        wanted = f"one number for all {numbers} sources or one for each, all at least 1"
        raise ConfigError(f"limit is {' '.join(map(str, limits))}; give {wanted}.")
    if len(joined) not in (0, numbers) or any(number < 0 for number in joined):
        wanted = f"one number for each of the {numbers} sources, all at least 0"
        raise ConfigError(f"joined is {' '.join(map(str, joined))}; give {wanted}.")
    pairs_of = dict(zip(paths, joined, strict=False))
    most_of = dict(zip(paths, [*limits] * numbers if len(limits) == 1 else limits, strict=False))
    documents: list[Document] = []
    queries: list[Query] = []
    metadata: dict[str, dict[str, str]] = {}
    qrels: dict[str, Qrels] = {"train": {}, "dev": {}}
    splits_of = {name: [s for s in qrels if s in read_splits(path)] for name, path in paths.items()}
    folders = {name: read_beir(path, *splits_of[name]) for name, path in paths.items()}
    smallest = min((len(data.qrels["dev"]) for data in folders.values() if "dev" in data.qrels), default=0)
    for name, data in folders.items():
        if both := data.qrels.get("train", {}).keys() & data.qrels.get("dev", {}).keys():
            raise DataError(
                f"{len(both)} queries of {paths[name]} are in both train and dev (such as {min(both)!r}); remove them "
                f"from one of the two splits, because dev must not contain training data."
            )
        documents += [replace(document, id=f"{name}/{document.id}") for document in data.corpus.values()]
        pairs = pairs_of.get(name, 0)
        numbers_of = {"train": (most_of.get(name), pairs), "dev": (smallest, min(pairs, smallest))}
        for split in splits_of[name]:
            (most, joins), judgements, chosen = numbers_of[split], data.qrels[split], data.queries[split]
            asked = [(_JOINED, *pair) for pair in _pairs(name, chosen, joins, judgements, f"{seed} {name} {split}")]
            if most is not None and most < len(chosen):
                chosen = random.Random(f"{seed} {name} {split}").sample(chosen, most)
            for part, query, relevant in [*(("", query, judgements[query.id]) for query in chosen), *asked]:
                kind = f"{name}/{part}" if part else name
                query_id = f"{kind}/{query.id}"
                queries.append(replace(query, id=query_id))
                metadata[query_id] = {"kind": kind}
                qrels[split][query_id] = {f"{name}/{doc_id}": r for doc_id, r in relevant.items()}
    write_beir(folder, documents, queries, {split: some for split, some in qrels.items() if some}, metadata)
    counts = ", ".join(f"{len(judgements):,} {split}" for split, judgements in qrels.items())
    places = "\n".join(f"- `{name}`: {path}" for name, path in paths.items())
    readme = f"""# Union

{len(documents):,} passages and {counts} queries in BEIR format, written by

`{command}`

{places}

Ids start with the name of their source. The name is also the `kind` of each query; compound queries, which join two
queries in one sentence, have the kind `NAME/joined`. The licences are those of the sources."""
    write_atomic(Path(folder) / "README.md", [readme])


def _pairs(
    name: str, queries: Sequence[Query], most: int, judgements: Qrels, seed: str
) -> list[tuple[Query, dict[str, int]]]:
    """Returns at most ``most`` compound queries with the judgements of both parts; every query is used at most once."""
    if not most:
        return []
    if in_talk := sum(bool(query.history) for query in queries):
        raise ConfigError(f"{in_talk} queries of {name} have a history and cannot be joined; set joined to 0 for it.")
    draw = random.Random(f"{seed} {_JOINED}")
    drawn = draw.sample(queries, min(2 * most, len(queries) // 2 * 2))
    return [
        (
            Query(f"{one.id}+{other.id}", one_sentence(one.text, other.text, draw)),
            judgements[one.id] | judgements[other.id],
        )
        for one, other in zip(drawn[::2], drawn[1::2], strict=True)
    ]


def one_sentence(one: str, other: str, draw: random.Random) -> str:
    """Joins two queries in one sentence."""
    first, space, rest = other.strip().partition(" ")
    small = first.lower() if first.lower() in _OPENERS else first
    return f"{one.rstrip(' ?.!')}{draw.choice(_LINKS)}{small}{space}{rest}"
