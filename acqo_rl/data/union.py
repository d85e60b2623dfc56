"""Merges BEIR folders into one, to train one policy on all of them or to search all of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acqo_rl.data.beir import read_beir, read_splits, write_beir
from acqo_rl.data.draw import draw
from acqo_rl.errors import ConfigError, DataError, check_positive
from acqo_rl.types import Document, Qrels, Query


def write_union(folder: str | Path, sources: Sequence[str | Path], *, limit: int | None = None, seed: int = 0) -> str:
    """Writes one BEIR folder with the corpora of all sources and their train and dev queries, if they have any.

    Ids get the name of their folder as a prefix. The name is also the ``kind`` of each query, so that an evaluation
    reports each source separately. The output is deterministic for the same folders and settings.

    Args:
        folder: output folder.
        sources: BEIR folders with different names.
        limit: maximum number of train queries per source, drawn at random; all by default. Each source with a dev split
            gives the same number of dev queries, that of the smallest one, so that all sources have equal weight when a
            checkpoint is chosen.
        seed: seed of the random choices.

    Returns:
        The text of a README.

    Raises:
        ConfigError: there is no source, two sources have the same name, or the limit is out of range.
        DataError: a source is malformed, or a query is in both train and dev.
    """
    paths = {Path(source).resolve().name: Path(source) for source in sources}
    if not paths or len(paths) < len(sources):
        given = ", ".join(map(str, sources)) or "nothing"
        raise ConfigError(f"The sources of the union are {given}; give folders with different names.")
    check_positive("limit", limit)
    documents: list[Document] = []
    queries: list[Query] = []
    metadata: dict[str, dict[str, str]] = {}
    qrels: dict[str, Qrels] = {"train": {}, "dev": {}}
    folders = {name: read_beir(path, *qrels.keys() & set(read_splits(path))) for name, path in paths.items()}
    smallest = min((len(data.qrels["dev"]) for data in folders.values() if "dev" in data.qrels), default=0)
    for name, data in folders.items():
        if both := data.qrels.get("train", {}).keys() & data.qrels.get("dev", {}).keys():
            raise DataError(
                f"{len(both)} queries of {paths[name]} are in both train and dev (such as {min(both)!r}); remove them "
                f"from one of the two splits, because dev must not contain training data."
            )
        documents += [replace(document, id=f"{name}/{document.id}") for document in data.corpus.values()]
        for split, most in (("train", limit), ("dev", smallest)):
            there = data.queries.get(split, [])
            for query in draw(there, len(there) if most is None else most, f"{seed} {name} {split}"):
                query_id = f"{name}/{query.id}"
                queries.append(replace(query, id=query_id))
                metadata[query_id] = {"kind": name}
                qrels[split][query_id] = {f"{name}/{doc_id}": r for doc_id, r in data.qrels[split][query.id].items()}
    write_beir(folder, documents, queries, {split: some for split, some in qrels.items() if some}, metadata)
    counts = ", ".join(f"{len(judgements):,} {split}" for split, judgements in qrels.items())
    places = "\n".join(f"- `{name}`: {path}" for name, path in paths.items())
    return f"""# Union

{len(documents):,} passages and {counts} queries in BEIR format.

{places}

Ids start with the name of their source, which is also the `kind` of each query. The licences are theirs."""
