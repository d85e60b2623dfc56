"""Imports public data sets from the Hugging Face Hub as BEIR folders, with a README that names source and licence.

The rows come from the caller, so nothing here opens a connection. Answers become metadata, which only the evaluation
uses.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.data.draw import HELD_OUT, hashed
from acqo_rl.errors import AcqoError, ConfigError, DataError
from acqo_rl.files import write_atomic
from acqo_rl.types import Document, Qrels, Query

Row = Mapping[str, Any]
Value = TypeVar("Value")


@dataclass(frozen=True)
class HubTable:
    """One table of the Hub.

    Attributes:
        path: owner/name.
        config: name of the configuration, if there are several.
        files: pairs of split and JSONL file, for a repository that ``load_dataset`` cannot read directly.
    """

    path: str
    config: str | None = None
    files: tuple[tuple[str, str], ...] = ()


OpenTable = Callable[[HubTable], Mapping[str, Iterable[Row]]]
"""Returns the rows of a table by split."""


@dataclass(frozen=True)
class JudgedQuery:
    """One question of a source.

    Attributes:
        query: the question, with the conversation before it.
        split: ``train``, ``dev`` or ``test``.
        group: questions of the same group (a conversation) are always in the same split.
        relevance: document id -> relevance.
        passages: documents that come with the question: the relevant ones and hard distractors.
        metadata: for evaluation only.
    """

    query: Query
    split: str
    group: str
    relevance: dict[str, int]
    passages: tuple[Document, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A public data set.

    Attributes:
        tables: tables that are read.
        licence: licence stated by the authors.
        judgements: which passages count as relevant.
        read: returns the questions, and all documents.
    """

    tables: tuple[HubTable, ...]
    licence: str
    judgements: str
    read: Callable[[OpenTable], tuple[Sequence[JudgedQuery], Iterable[Document]]]


def find_source(name: str) -> Source:
    """Returns the source of a data set.

    Raises:
        ConfigError: the data set is unknown.
    """
    if name == "nq" or name.removeprefix("beir/") not in (name, ""):
        return _beir(name.removeprefix("beir/"))
    # load_dataset refuses repositories with a loading script, but this one also has plain JSONL files.
    files = (("validation", "data/topiocqa_valid.jsonl"), ("train", "data/topiocqa_train.jsonl"))
    hotpotqa, topiocqa = HubTable("hotpotqa/hotpot_qa", "distractor"), HubTable("McGill-NLP/TopiOCQA", files=files)
    sources = {
        "hotpotqa": Source(
            (hotpotqa,),
            "CC BY-SA 4.0",
            "the paragraphs that hold the supporting facts",
            partial(_read_with_passages, hotpotqa, _read_hotpot),
        ),
        "topiocqa": Source(
            (topiocqa,),
            "CC BY-NC-SA 4.0 (no commercial use)",
            "the gold passage of each turn",
            partial(_read_with_passages, topiocqa, _read_topiocqa),
        ),
    }
    if name not in sources:
        raise ConfigError(
            f"dataset is {name!r}; use embedded, embedded_more, nq, {', '.join(sources)}, or beir/NAME for a data set "
            "of BEIR."
        )
    return sources[name]


def write_public(
    folder: str | Path,
    name: str,
    open_table: OpenTable,
    *,
    limit: int | None = None,
    distractors: int | None = None,
    seed: int = 0,
    command: str = "",
) -> None:
    """Writes a public data set as a BEIR folder with its README.

    The selection does not depend on the order of the rows; the output is deterministic for the same rows and settings.

    Args:
        folder: output folder.
        name: name of the data set.
        open_table: opens a table of the Hub.
        limit: maximum number of queries per split; all by default.
        distractors: number of passages in addition to those of the selected queries; by default all of the source.
        seed: seed of the random choice of queries and distractors.
        command: command that writes the folder, for its README.

    Raises:
        ConfigError: the data set is unknown, or a setting is out of range.
        DataError: the source has changed, or none of its questions is usable.
    """
    source = find_source(name)
    if (limit is not None and limit < 1) or (distractors is not None and distractors < 0):
        raise ConfigError(
            f"limit is {limit} and distractors is {distractors}; limit must be at least 1 and distractors at least 0."
        )
    examples, documents = source.read(open_table)
    usable = {e.query.id: e for e in reversed(examples) if e.query.text.strip() and _is_judged(e)}
    chosen = _sample(_hold_out([*usable.values()][::-1]), limit, seed)
    own = {doc_id for e in chosen for doc_id in (*e.relevance, *(document.id for document in e.passages))}
    corpus = _choose(documents, own, distractors, seed)
    found = (replace(e, relevance={d: r for d, r in e.relevance.items() if d in corpus}) for e in chosen)
    kept = [example for example in found if _is_judged(example)]
    left_out = len(examples) - len(usable) + len(chosen) - len(kept)
    if not kept:
        raise DataError(
            f"{name}: none of its {left_out} questions has a relevant passage in the corpus; check the columns of"
            f" {source.tables[0].path} and its reader in acqo_rl/data/public.py."
        )
    qrels: dict[str, Qrels] = {}
    for example in kept:
        qrels.setdefault(example.split, {})[example.query.id] = example.relevance
    metadata = {example.query.id: example.metadata for example in kept}
    write_beir(folder, corpus.values(), [example.query for example in kept], qrels, metadata)
    tables = "\n".join(
        f"- https://huggingface.co/datasets/{table.path}{f', configuration {table.config}' if table.config else ''}"
        for table in source.tables
    )
    counts = Counter(example.split for example in kept)
    queries = ", ".join(f"{counts[split]:,} {split}" for split in ("train", "dev", "test") if split in counts)
    readme = f"""# {name}

{len(corpus):,} passages and {queries} queries in BEIR format, written by

`{command}`

## Source and licence

{tables}
- Licence: {source.licence}.

## What was kept

- Queries: {"all" if limit is None else f"at most {limit:,} per split, drawn at random"}. {left_out:,} were skipped: no
  relevant passage, no text or a repeated id.
- Splits: validation is dev in BEIR and test elsewhere. A dev or test split that the source does not have is
  {HELD_OUT:.0%} of its train questions, chosen by a hash of their id or of the conversation that they belong to.
- Passages: {"all" if distractors is None else f"those of these queries and {distractors:,} others, drawn at random"};
  passages with the same id are merged.
- Relevant: {source.judgements}.
- `metadata` other than `history` is for evaluation only: it is not used in prompts or training."""
    write_atomic(Path(folder) / "README.md", [readme])


def passage(title: str, text: str) -> Document:
    """A document whose id is a hash of its title and text, so that equal paragraphs become one document."""
    title, text = " ".join(title.split()), " ".join(text.split())
    return Document(hashlib.sha256(f"{title}\0{text}".encode()).hexdigest()[:16], title, text)


def _read_hotpot(split: str, row: Row) -> JudgedQuery:
    """HotpotQA (Yang et al. 2018)."""
    titles, context = row["context"]["title"], row["context"]["sentences"]
    paragraphs = [passage(title, " ".join(sentences)) for title, sentences in zip(titles, context, strict=True)]
    supporting = set(row["supporting_facts"]["title"])
    gold = {p.id: 1 for title, p in zip(titles, paragraphs, strict=True) if title in supporting}
    return JudgedQuery(
        Query(row["id"], row["question"]),
        split,
        row["id"],
        gold if supporting <= set(titles) else {},
        tuple(paragraphs),
        {"kind": row["type"], "answers": [row["answer"]]},
    )


def _read_topiocqa(split: str, row: Row) -> JudgedQuery:
    """TopiOCQA (Adlakha et al. 2022)."""
    gold = row["Gold_passage"]
    paragraph = passage(gold["title"].replace(" [SEP] ", ": "), gold["text"])
    conversation = f"{split}-{row['Conversation_no']}"
    return JudgedQuery(
        Query(f"{conversation}-{row['Turn_no']}", row["Question"], read_history(row["Context"], row["Question"])),
        split,
        conversation,
        {paragraph.id: 1} if paragraph.text else {},
        (paragraph,) if paragraph.text else (),
        {"answers": [row["Answer"]]},
    )


def _read_with_passages(
    table: HubTable, read: Callable[[str, Row], JudgedQuery], open_table: OpenTable
) -> tuple[Sequence[JudgedQuery], Iterable[Document]]:
    """A data set whose rows contain the passages. Its validation split becomes test, on which papers report."""
    rows, examples = open_table(table), []
    documents: dict[str, Document] = {}
    for theirs, ours in (("validation", "test"), ("train", "train")):
        for example in _read_split(rows, theirs, table, partial(read, ours)):
            shared = tuple(documents.setdefault(document.id, document) for document in example.passages)
            examples.append(replace(example, passages=shared))
    return examples, documents.values()


def _beir(name: str) -> Source:
    """A data set of BEIR (Thakur et al. 2021), with its original ids."""
    corpus, queries, qrels = (
        HubTable(f"BeIR/{name}", "corpus"),
        HubTable(f"BeIR/{name}", "queries"),
        HubTable(f"BeIR/{name}-qrels"),
    )

    def read(open_table: OpenTable) -> tuple[Sequence[JudgedQuery], Iterable[Document]]:
        rows = _read_split(open_table(queries), "queries", queries, lambda row: (row["_id"], row["text"]))
        texts, judgements = dict(rows), open_table(qrels)
        examples = []
        # test comes before train, so that a query in both splits is not used for training
        for theirs, ours in (("test", "test"), ("validation", "dev"), ("train", "train")):
            judged: dict[str, dict[str, int]] = {}
            pairs = _read_split(judgements, theirs, qrels, _judgement) if theirs in judgements else ()
            for query_id, doc_id, score in pairs:
                judged.setdefault(query_id, {})[doc_id] = score
            examples += [JudgedQuery(Query(q, texts.get(q, "")), ours, q, relevance) for q, relevance in judged.items()]
        documents = _read_split(
            open_table(corpus), "corpus", corpus, lambda row: Document(row["_id"], row["title"], row["text"])
        )
        return examples, documents

    return Source(
        (corpus, queries, qrels),
        "CC BY-SA 4.0, as stated for BEIR; the original data set has its own licence, see https://beir.ai",
        "as in the qrels of BEIR",
        read,
    )


def _judgement(row: Row) -> tuple[str, str, int]:
    """The Hub stores ids that consist of digits as numbers."""
    return str(row["query-id"]), str(row["corpus-id"]), int(row["score"])


def _read_split(
    splits: Mapping[str, Iterable[Row]], split: str, table: HubTable, read: Callable[[Row], Value]
) -> Iterator[Value]:
    """Yields what ``read`` makes of the rows of one split.

    Raises:
        DataError: the split does not exist, or a row has other columns or types.
    """
    remedy = "The data set has changed since its reader was written; adapt the reader in acqo_rl/data/public.py."
    if split not in splits:
        raise DataError(f"{table.path}: there is no split {split!r}, only {', '.join(splits)}. {remedy}")
    for row in splits[split]:
        try:
            yield read(row)
        except (KeyError, TypeError, ValueError, AcqoError) as error:
            raise DataError(f"{table.path}, split {split}: {error!r}. {remedy}") from error


def _hold_out(examples: list[JudgedQuery]) -> list[JudgedQuery]:
    """Moves groups from train to dev and test if the source does not have them.

    The choice does not depend on a seed, so a test query in one folder is never a train query in another.
    """
    there = {example.split for example in examples}
    missing = [split for split in ("dev", "test") if split not in there]

    def split_of(example: JudgedQuery) -> str:
        place = int(hashed("held out", example.group) / HELD_OUT)
        return missing[place] if example.split == "train" and place < len(missing) else example.split

    return [replace(example, split=split_of(example)) for example in examples]


def _sample(examples: list[JudgedQuery], limit: int | None, seed: int) -> list[JudgedQuery]:
    """Draws at most ``limit`` examples per split and keeps their order."""
    if limit is None:
        return examples
    kept: set[str] = set()
    for split in {example.split for example in examples}:
        ids = [example.query.id for example in examples if example.split == split]
        kept.update(heapq.nsmallest(limit, ids, key=lambda query_id: hashed(f"query {seed}", query_id)))
    return [example for example in examples if example.query.id in kept]


def _choose(documents: Iterable[Document], own: set[str], distractors: int | None, seed: int) -> dict[str, Document]:
    """Selects the documents of the queries and ``distractors`` others; holds no more than these in memory."""
    if distractors is None:
        return {document.id: document for document in documents}
    kept: dict[str, Document] = {}

    def others() -> Iterator[Document]:
        for document in documents:
            if document.id in own:
                kept[document.id] = document
            else:
                yield document

    # nsmallest reads nothing if it is asked for nothing
    drawn = heapq.nsmallest(distractors or 1, others(), key=lambda document: hashed(f"document {seed}", document.id))
    return kept | {document.id: document for document in drawn[:distractors]}


def _is_judged(example: JudgedQuery) -> bool:
    return max(example.relevance.values(), default=0) > 0
