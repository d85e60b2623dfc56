"""The supported public data sets: their tables on the Hugging Face Hub, licences and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from acqo_rl.data.public import readers
from acqo_rl.data.public.readers import Example
from acqo_rl.data.public.rows import OpenTable, Row, Shape, Table, read_split
from acqo_rl.errors import ConfigError
from acqo_rl.types import Document, Query


@dataclass(frozen=True)
class Source:
    """A public data set.

    Attributes:
        tables: tables that are read.
        licence: licence stated by the authors.
        judgements: which passages count as relevant.
        splits: split of the source -> split in the BEIR folder; other splits are not read.
        read: reads the questions.
        read_corpus: reads the corpus, if it is a separate table and does not come with the questions.
    """

    tables: tuple[Table, ...]
    licence: str
    judgements: str
    splits: dict[str, str]
    read: Callable[[OpenTable, dict[str, str]], Iterator[Example]]
    read_corpus: Callable[[OpenTable], Iterator[Document]] | None = None


def find_source(name: str) -> Source:
    """Returns the source of a data set.

    Raises:
        ConfigError: the data set is unknown.
    """
    if name == "nq" or name.removeprefix("beir/") not in (name, ""):
        return _beir(name.removeprefix("beir/"))
    facts = "the paragraphs that hold the supporting facts"
    # load_dataset refuses repositories with a loading script, but this one also has plain JSONL files.
    topiocqa = Table(
        "McGill-NLP/TopiOCQA",
        files=(("validation", "data/topiocqa_valid.jsonl"), ("train", "data/topiocqa_train.jsonl")),
    )
    sources = {
        "hotpotqa": _with_passages(
            Table("hotpotqa/hotpot_qa", "distractor"), "CC BY-SA 4.0", facts, readers.HOTPOT, readers.read_hotpot
        ),
        "2wikimultihopqa": _with_passages(
            Table("framolfese/2WikiMultihopQA"), "Apache-2.0", facts, readers.HOTPOT, readers.read_hotpot
        ),
        "musique": _with_passages(
            Table("dgslibisey/MuSiQue"),
            "CC BY 4.0 (stated by its authors; the copy on the Hub states none)",
            "the supporting paragraphs of answerable questions",
            readers.MUSIQUE,
            readers.read_musique,
        ),
        "squad": _with_passages(
            Table("rajpurkar/squad"),
            "CC BY-SA 4.0",
            "the paragraph that the question was asked about",
            readers.SQUAD,
            readers.read_squad,
        ),
        "topiocqa": _with_passages(
            topiocqa,
            "CC BY-NC-SA 4.0 (no commercial use)",
            "the gold passage of each turn",
            readers.TOPIOCQA,
            readers.read_topiocqa,
        ),
    }
    if name not in sources:
        raise ConfigError(
            f"dataset is {name!r}; use embedded, nq, {', '.join(sources)}, or beir/NAME for a data set of BEIR."
        )
    return sources[name]


def _with_passages(
    table: Table, licence: str, judgements: str, shape: Shape, read: Callable[[Row, str], Example]
) -> Source:
    """A data set with one table, whose rows contain the passages.

    Its validation split becomes test: papers report on it, because the test splits are unlabelled or missing.
    """
    splits = {"validation": "test", "train": "train"}
    return Source((table,), licence, judgements, splits, partial(_read_rows, table, shape, read))


def _beir(name: str) -> Source:
    """A data set of BEIR (Thakur et al. 2021), with its original ids."""
    corpus, queries = Table(f"BeIR/{name}", "corpus"), Table(f"BeIR/{name}", "queries")
    qrels = Table(f"BeIR/{name}-qrels")
    return Source(
        tables=(corpus, queries, qrels),
        licence="CC BY-SA 4.0, as stated for BEIR; the original data set has its own licence, see https://beir.ai",
        judgements="as in the qrels of BEIR",
        # test comes before train, so that a query in both splits is not used for training
        splits={"test": "test", "validation": "dev", "train": "train"},
        read=partial(_read_beir, queries, qrels),
        read_corpus=partial(_read_documents, corpus, readers.BEIR_TEXT, readers.read_beir_document, split="corpus"),
    )


def _read_rows(
    table: Table, shape: Shape, read: Callable[[Row, str], Example], open_table: OpenTable, splits: dict[str, str]
) -> Iterator[Example]:
    rows = open_table(table)
    for theirs, ours in splits.items():
        for row in read_split(rows, theirs, table, shape):
            yield read(row, ours)


def _read_documents(
    table: Table, shape: Shape, read: Callable[[Row], Document], open_table: OpenTable, split: str = "train"
) -> Iterator[Document]:
    for row in read_split(open_table(table), split, table, shape):
        yield read(row)


def _read_beir(queries: Table, qrels: Table, open_table: OpenTable, splits: dict[str, str]) -> Iterator[Example]:
    """Reads questions from one table and judgements from another; splits that a data set does not have are skipped."""
    rows = read_split(open_table(queries), "queries", queries, readers.BEIR_TEXT)
    texts = {row["_id"]: row["text"] for row in rows}
    judgements = open_table(qrels)
    for theirs in filter(judgements.__contains__, splits):
        judged: dict[str, dict[str, int]] = {}
        for row in read_split(judgements, theirs, qrels, readers.BEIR_QRELS):
            # The Hub stores ids that consist of digits as numbers.
            judged.setdefault(str(row["query-id"]), {})[str(row["corpus-id"])] = row["score"]
        for query_id, relevance in judged.items():
            yield Example(Query(query_id, texts.get(query_id, "")), splits[theirs], query_id, relevance)
