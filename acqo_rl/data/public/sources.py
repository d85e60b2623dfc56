"""Where the public data sets are on the Hugging Face Hub, and how their rows are read.

Rows come as plain mappings; who streams them is not known here. What a source holds beside question, conversation
and passages (answers, human rewrites, decompositions) goes into the metadata, which only evaluation reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from acqo_rl.errors import ConfigError, DataError
from acqo_rl.types import Document, Query

Row = Mapping[str, Any]

Shape = type | tuple[type, ...] | list[Any] | dict[str, Any]
"""What a value must be: a type, a list of one shape, or columns with their shapes."""


@dataclass(frozen=True)
class Table:
    """One table of the Hub.

    Attributes:
        path: owner/name.
        config: name of the configuration, where there are several.
        files: JSONL file of each split, for a repository that ``load_dataset`` cannot read as it stands.
    """

    path: str
    config: str | None = None
    files: tuple[tuple[str, str], ...] = ()


OpenTable = Callable[[Table], Mapping[str, Iterable[Row]]]
"""Gives the rows of a table by split."""


@dataclass(frozen=True)
class Example:
    """One question of a source.

    Attributes:
        query: with the conversation before it.
        split: ``train``, ``dev`` or ``test``.
        group: questions of one group (a conversation, an article) are never in two splits.
        relevance: document id -> relevance; empty where the source does not say what is relevant.
        passages: that come with the question, the relevant ones and hard distractors.
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
        tables: what is read.
        licence: as stated by its makers.
        judgements: what counts as relevant.
        splits: split of the source -> ours; those that are not named are not read.
        read: its questions.
        read_corpus: its corpus, where that is a table of its own and does not come with the questions.
        fits_memory: False where the corpus has to be sampled.
    """

    tables: tuple[Table, ...]
    licence: str
    judgements: str
    splits: dict[str, str]
    read: Callable[[OpenTable, dict[str, str]], Iterator[Example]]
    read_corpus: Callable[[OpenTable], Iterator[Document]] | None = None
    fits_memory: bool = True


def find_source(name: str) -> Source:
    """The source of a data set.

    Raises:
        ConfigError: there is no such data set.
    """
    # The labelled split that papers report on; the test splits of these sources are unlabelled, or there is none.
    validation = {"validation": "test", "train": "train"}
    hotpotqa, wiki2 = Table("hotpotqa/hotpot_qa", "distractor"), Table("framolfese/2WikiMultihopQA")
    musique, squad = Table("dgslibisey/MuSiQue"), Table("rajpurkar/squad")
    # load_dataset refuses a repository with a loading script; the files beside the script are plain JSONL.
    topiocqa = Table(
        "McGill-NLP/TopiOCQA",
        files=(("validation", "data/topiocqa_valid.jsonl"), ("train", "data/topiocqa_train.jsonl")),
    )
    news, articles = Table("yixuantt/MultiHopRAG", "MultiHopRAG"), Table("yixuantt/MultiHopRAG", "corpus")
    qrecc, qrecc_passages = Table("slupart/qrecc"), Table("slupart/qrecc-passages")
    sources = {
        "hotpotqa": Source(
            (hotpotqa,),
            "CC BY-SA 4.0",
            "the paragraphs that hold the supporting facts",
            validation,
            partial(_read_rows, hotpotqa, _HOTPOT, _read_hotpot),
        ),
        "2wikimultihopqa": Source(
            (wiki2,),
            "Apache-2.0",
            "the paragraphs that hold the supporting facts",
            validation,
            partial(_read_rows, wiki2, _HOTPOT, _read_hotpot),
        ),
        "musique": Source(
            (musique,),
            "CC BY 4.0 (stated by its authors; the copy on the Hub states none)",
            "the supporting paragraphs of answerable questions",
            validation,
            partial(_read_rows, musique, _MUSIQUE, _read_musique),
        ),
        "squad": Source(
            (squad,),
            "CC BY-SA 4.0",
            "the paragraph that the question was asked about",
            validation,
            partial(_read_rows, squad, _SQUAD, _read_squad),
        ),
        "topiocqa": Source(
            (topiocqa,),
            "CC BY-NC-SA 4.0 (no commercial use)",
            "the gold passage of each turn",
            validation,
            partial(_read_rows, topiocqa, _TOPIOCQA, _read_topiocqa),
        ),
        "multihop_rag": Source(
            (news, articles),
            "ODC-By 1.0",
            "the news articles of the evidence, each whole",
            {"train": "train"},
            partial(_read_rows, news, _MULTIHOP_RAG, _read_multihop_rag),
            partial(_read_documents, articles, _ARTICLE, _read_article),
        ),
        "qrecc": Source(
            (qrecc, qrecc_passages),
            "CC BY-SA 3.0 (questions); the passages are web pages of Common Crawl under terms of their own",
            "the passages that hold the answer, as judged for SCAI-QReCC 2021; turns without one are left out",
            {"test": "test", "train": "train"},
            partial(_read_rows, qrecc, _QRECC, _read_qrecc),
            partial(_read_documents, qrecc_passages, _QRECC_PASSAGE, _read_qrecc_passage),
            fits_memory=False,
        ),
    }
    if name == "nq":
        name = "beir/nq"
    if name.removeprefix("beir/") not in ("", name):
        return _beir(name.removeprefix("beir/"))
    if name not in sources:
        raise ConfigError(
            f"dataset is {name!r}; there are embedded, nq, {', '.join(sources)}, and beir/NAME for a set of BEIR."
        )
    return sources[name]


def passage(title: str, text: str) -> Document:
    """A document whose id follows from its title and text, so that equal paragraphs are one document."""
    title, text = " ".join(title.split()), " ".join(text.split())
    return Document(_stable_id(title, text), title, text)


def check_row(row: object, shape: Shape, where: str, column: str = "row") -> None:
    """Checks that a row is as its reader expects it.

    Raises:
        DataError: a column is missing or of another type.
    """
    change = "The data set has changed: load an older revision of it, or adapt its reader in acqo_rl/data/public."
    if isinstance(shape, dict) and isinstance(row, Mapping):
        for name, inner in shape.items():
            if name not in row:
                wanted, found = ", ".join(shape), ", ".join(map(str, row)) or "none"
                raise DataError(
                    f"{where}: {column} has no {name!r}; columns wanted: {wanted}; found: {found}. {change}"
                )
            check_row(row[name], inner, where, f"{column}.{name}")
    elif isinstance(shape, list) and isinstance(row, list):
        for item in row:
            check_row(item, shape[0], where, f"{column}[]")
    else:
        types = dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape
        if not isinstance(row, types):
            names = [kind.__name__ for kind in (types if isinstance(types, tuple) else (types,))]
            raise DataError(f"{where}: {column} is {type(row).__name__}, wanted {' or '.join(names)}. {change}")


def _read_rows(
    table: Table, shape: Shape, read: Callable[[Row, str], Example], open_table: OpenTable, splits: dict[str, str]
) -> Iterator[Example]:
    rows = open_table(table)
    for theirs, ours in splits.items():
        for row in _split(rows, theirs, table):
            check_row(row, shape, f"{table.path}, split {theirs}")
            yield read(row, ours)


def _read_documents(
    table: Table, shape: Shape, read: Callable[[Row], Document], open_table: OpenTable, split: str = "train"
) -> Iterator[Document]:
    for row in _split(open_table(table), split, table):
        check_row(row, shape, f"{table.path}, split {split}")
        yield read(row)


def _split(splits: Mapping[str, Iterable[Row]], name: str, table: Table) -> Iterable[Row]:
    if name not in splits:
        raise DataError(
            f"{table.path}: no split {name!r}, found {', '.join(splits)}. The data set has changed: load an older"
            " revision of it, or adapt its reader in acqo_rl/data/public."
        )
    return splits[name]


_HOTPOT: Shape = {
    "id": str,
    "question": str,
    "answer": str,
    "type": str,
    "supporting_facts": {"title": [str]},
    "context": {"title": [str], "sentences": [[str]]},
}


def _read_hotpot(row: Row, split: str) -> Example:
    """HotpotQA (Yang et al. 2018) and 2WikiMultihopQA (Ho et al. 2020)."""
    titles, context = row["context"]["title"], row["context"]["sentences"]
    paragraphs = [passage(title, " ".join(sentences)) for title, sentences in zip(titles, context, strict=True)]
    supporting = set(row["supporting_facts"]["title"])
    judged = supporting <= set(titles)
    return Example(
        Query(row["id"], row["question"]),
        split,
        row["id"],
        {p.id: 1 for title, p in zip(titles, paragraphs, strict=True) if judged and title in supporting},
        tuple(paragraphs),
        {"kind": row["type"], "answers": _answers(row["answer"])},
    )


_MUSIQUE: Shape = {
    "id": str,
    "question": str,
    "answer": str,
    "answer_aliases": [str],
    "answerable": bool,
    "question_decomposition": [{"question": str}],
    "paragraphs": [{"title": str, "paragraph_text": str, "is_supporting": bool}],
}


def _read_musique(row: Row, split: str) -> Example:
    """MuSiQue (Trivedi et al. 2022)."""
    steps = [step["question"] for step in row["question_decomposition"]]
    paragraphs = [passage(p["title"], p["paragraph_text"]) for p in row["paragraphs"]]
    gold = [p for p, source in zip(paragraphs, row["paragraphs"], strict=True) if source["is_supporting"]]
    return Example(
        Query(row["id"], row["question"]),
        split,
        row["id"],
        {p.id: 1 for p in gold if row["answerable"]},
        tuple(paragraphs),
        {
            "kind": f"{len(steps)} hops",
            "answers": _answers(row["answer"], *row["answer_aliases"]),
            "decomposition": steps,
        },
    )


_SQUAD: Shape = {"id": str, "title": str, "context": str, "question": str, "answers": {"text": [str]}}


def _read_squad(row: Row, split: str) -> Example:
    """SQuAD (Rajpurkar et al. 2016)."""
    paragraph = passage(row["title"].replace("_", " "), row["context"])
    query = Query(row["id"], row["question"].strip())
    answers = _answers(*row["answers"]["text"])
    return Example(query, split, row["title"], {paragraph.id: 1}, (paragraph,), {"answers": answers})


_TOPIOCQA: Shape = {
    "Conversation_no": int,
    "Turn_no": int,
    "Question": str,
    "Answer": str,
    "Context": [str],
    "Gold_passage": {"title": str, "text": str},
}


def _read_topiocqa(row: Row, split: str) -> Example:
    """TopiOCQA (Adlakha et al. 2022)."""
    gold = row["Gold_passage"]
    paragraph = passage(gold["title"].replace(" [SEP] ", ": "), gold["text"])
    conversation = f"{split}-{row['Conversation_no']}"
    return Example(
        Query(f"{conversation}-{row['Turn_no']}", row["Question"], _history(row["Context"])),
        split,
        conversation,
        {paragraph.id: 1} if paragraph.text else {},
        (paragraph,) if paragraph.text else (),
        {"answers": _answers(row["Answer"])},
    )


_QRECC: Shape = {
    "Conversation_no": int,
    "Turn_no": int,
    "Question": str,
    "Context": [str],
    "Truth_rewrite": str,
    "Truth_answer": str,
    "Truth_passages": [str],
}
_QRECC_PASSAGE: Shape = {"id": str, "contents": str}


def _read_qrecc(row: Row, split: str) -> Example:
    """QReCC (Anantha et al. 2021) with the passages of SCAI-QReCC (Vakulenko et al. 2022)."""
    conversation = f"{split}-{row['Conversation_no']}"
    return Example(
        Query(f"{conversation}-{row['Turn_no']}", row["Question"], _history(row["Context"])),
        split,
        conversation,
        {_stable_id(url): 1 for url in row["Truth_passages"]},
        metadata={"answers": _answers(row["Truth_answer"]), "rewrite": row["Truth_rewrite"]},
    )


def _read_qrecc_passage(row: Row) -> Document:
    # The id is the address of a web page and a position; it may hold white space, which an id of BEIR may not.
    return Document(_stable_id(row["id"]), "", " ".join(row["contents"].split()))


_MULTIHOP_RAG: Shape = {"query": str, "answer": str, "question_type": str, "evidence_list": [{"url": str}]}
_ARTICLE: Shape = {"title": str, "url": str, "body": str}


def _read_multihop_rag(row: Row, split: str) -> Example:
    """MultiHop-RAG (Tang and Yang 2024); null queries have no evidence."""
    query = Query(_stable_id(row["query"]), row["query"])
    relevance = {_stable_id(evidence["url"]): 1 for evidence in row["evidence_list"]}
    metadata = {"kind": row["question_type"], "answers": _answers(row["answer"])}
    return Example(query, split, query.id, relevance, metadata=metadata)


def _read_article(row: Row) -> Document:
    return Document(_stable_id(row["url"]), " ".join(row["title"].split()), " ".join(row["body"].split()))


def _beir(name: str) -> Source:
    """A set of BEIR (Thakur et al. 2021) with the ids it has there."""
    corpus, queries = Table(f"BeIR/{name}", "corpus"), Table(f"BeIR/{name}", "queries")
    qrels = Table(f"BeIR/{name}-qrels")
    return Source(
        (corpus, queries, qrels),
        "CC BY-SA 4.0, as stated for BEIR; the set BEIR took it from has its own licence, see https://beir.ai",
        "as in the qrels of BEIR",
        # test before train: a query that both judge stays out of training
        {"test": "test", "validation": "dev", "train": "train"},
        partial(_read_beir, queries, qrels),
        partial(_read_documents, corpus, _BEIR_DOCUMENT, _read_beir_document, split="corpus"),
    )


_BEIR_DOCUMENT: Shape = {"_id": str, "title": str, "text": str}
_BEIR_QUERY: Shape = {"_id": str, "text": str}
_BEIR_QRELS: Shape = {"query-id": (str, int), "corpus-id": (str, int), "score": int}


def _read_beir(queries: Table, qrels: Table, open_table: OpenTable, splits: dict[str, str]) -> Iterator[Example]:
    texts: dict[str, str] = {}
    for row in _split(open_table(queries), "queries", queries):
        check_row(row, _BEIR_QUERY, f"{queries.path}, split queries")
        texts[row["_id"]] = row["text"]
    judgements = open_table(qrels)
    for theirs, ours in splits.items():
        judged: dict[str, dict[str, int]] = {}
        for row in judgements.get(theirs, ()):
            check_row(row, _BEIR_QRELS, f"{qrels.path}, split {theirs}")
            judged.setdefault(str(row["query-id"]), {})[str(row["corpus-id"])] = row["score"]
        for query_id, relevance in judged.items():
            yield Example(Query(query_id, texts.get(query_id, "")), ours, query_id, relevance)


def _read_beir_document(row: Row) -> Document:
    return Document(row["_id"], row["title"], row["text"])


def _history(context: list[str]) -> tuple[str, ...]:
    """Earlier turns, oldest first: the user asks, the system answers."""
    return tuple(f"{'US'[number % 2]}: {turn}" for number, turn in enumerate(context))


def _answers(*answers: str) -> list[str]:
    return list(dict.fromkeys(answer for answer in answers if answer))


def _stable_id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
