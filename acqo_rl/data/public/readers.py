"""Converts rows of public data sets to questions and passages.

Other fields of a source (answers, human rewrites, decompositions) become metadata, which only the evaluation uses.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from acqo_rl.conversations import read_history
from acqo_rl.data.public.rows import Row, Shape
from acqo_rl.types import Document, Query


@dataclass(frozen=True)
class Example:
    """One question of a source.

    Attributes:
        query: the question, with the conversation before it.
        split: ``train``, ``dev`` or ``test``.
        group: questions of the same group (a conversation, an article) are always in the same split.
        relevance: document id -> relevance; empty if the source gives no judgements.
        passages: passages that come with the question: the relevant ones and hard distractors.
        metadata: for evaluation only.
    """

    query: Query
    split: str
    group: str
    relevance: dict[str, int]
    passages: tuple[Document, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


def passage(title: str, text: str) -> Document:
    """A document whose id is a hash of its title and text, so that equal paragraphs become one document."""
    title, text = " ".join(title.split()), " ".join(text.split())
    return Document(_stable_id(title, text), title, text)


HOTPOT: Shape = {
    "id": str,
    "question": str,
    "answer": str,
    "type": str,
    "supporting_facts": {"title": [str]},
    "context": {"title": [str], "sentences": [[str]]},
}


def read_hotpot(row: Row, split: str) -> Example:
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


MUSIQUE: Shape = {
    "id": str,
    "question": str,
    "answer": str,
    "answer_aliases": [str],
    "answerable": bool,
    "question_decomposition": [{"question": str}],
    "paragraphs": [{"title": str, "paragraph_text": str, "is_supporting": bool}],
}


def read_musique(row: Row, split: str) -> Example:
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


SQUAD: Shape = {"id": str, "title": str, "context": str, "question": str, "answers": {"text": [str]}}


def read_squad(row: Row, split: str) -> Example:
    """SQuAD (Rajpurkar et al. 2016)."""
    paragraph = passage(row["title"].replace("_", " "), row["context"])
    query = Query(row["id"], row["question"].strip())
    answers = _answers(*row["answers"]["text"])
    return Example(query, split, row["title"], {paragraph.id: 1}, (paragraph,), {"answers": answers})


TOPIOCQA: Shape = {
    "Conversation_no": int,
    "Turn_no": int,
    "Question": str,
    "Answer": str,
    "Context": [str],
    "Gold_passage": {"title": str, "text": str},
}


def read_topiocqa(row: Row, split: str) -> Example:
    """TopiOCQA (Adlakha et al. 2022)."""
    gold = row["Gold_passage"]
    paragraph = passage(gold["title"].replace(" [SEP] ", ": "), gold["text"])
    conversation = f"{split}-{row['Conversation_no']}"
    return Example(
        Query(f"{conversation}-{row['Turn_no']}", row["Question"], read_history(row["Context"], row["Question"])),
        split,
        conversation,
        {paragraph.id: 1} if paragraph.text else {},
        (paragraph,) if paragraph.text else (),
        {"answers": _answers(row["Answer"])},
    )


BEIR_TEXT: Shape = {"_id": str, "title": str, "text": str}
BEIR_QRELS: Shape = {"query-id": (str, int), "corpus-id": (str, int), "score": int}


def read_beir_document(row: Row) -> Document:
    """An unchanged document, so that results are comparable to published ones."""
    return Document(row["_id"], row["title"], row["text"])


def _answers(*answers: str) -> list[str]:
    return list(dict.fromkeys(answer for answer in answers if answer))


def _stable_id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
