"""Collects the documents that are worth judging, and judges by a language model whether they answer a query.

The grades are those of TREC (0 to 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.structured import example, fields, one_of, problem_of, read_reply
from acqo_rl.pipeline.context import window
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.roles import Fusion, LanguageModel, Reformulator, Retriever
from acqo_rl.searching.path import SearchPath, search
from acqo_rl.text import passage_text
from acqo_rl.training.candidates import Candidate
from acqo_rl.types import Conversation, Document, Qrels, Query, Reformulation

RELEVANT = 2
"""Least grade of a relevant document; grade 1 means related, but without an answer."""
_BATCH = 64
_CANDIDATE_DEPTH = 3  # documents of each candidate of the warm start
_CHARACTERS = 2000
"""Maximum characters of a document's text that a judge reads."""
_TURNS = 6

_INSTRUCTIONS = """\
Judge how well a passage answers the last question of a user. Grades:
3 the passage is about exactly what is asked and answers it
2 the passage answers a part of it, or its answer is unclear
1 the passage is about the same subject, but has no answer
0 the passage is about something else
Reply with JSON."""
_EXAMPLES = (
    ("Question: when was the Veld mill built\nPassage: Veld mill. Built by Anna Smit in 1790.", example(grade=3)),
    ("Question: when was the Veld mill built\nPassage: Veld mill. It grinds mustard seed.", example(grade=1)),
    ("U: Who was Anna Smit?\nS: An engineer.\nQuestion: Where did she live?\nPassage: Marken.", example(grade=0)),
)
_GRADE = fields(grade=one_of(0, 1, 2, 3))


class Pair(NamedTuple):
    """A document to judge for a query."""

    query: Query
    document: Document


Grade = int | str
"""A grade from 0 to 3; or, as a text, the reason why there is none."""


def pool(
    queries: Sequence[Query],
    reformulators: Sequence[Reformulator],
    candidates: Mapping[str, Sequence[Candidate]],
    retriever: Retriever,
    fusion: Fusion,
    *,
    depth: int,
    most: int,
) -> dict[str, list[str]]:
    """Query id -> document ids, in the order in which they should be judged.

    Documents of all lists alternate by rank, so that ``most`` drops the lowest ranks. The candidates of the warm start
    take part, because a document that only a candidate finds must be judged too: otherwise the reward would count it
    as not relevant.

    Args:
        queries: to pool for.
        reformulators: whose fused rankings take part.
        candidates: query id -> candidates of the warm start.
        retriever: searched.
        fusion: of sub-queries.
        depth: documents of each reformulator.
        most: maximum number of documents per query.
    """
    lists: dict[str, list[tuple[str, ...]]] = {query.id: [] for query in queries}
    for start in range(0, len(queries), _BATCH):
        batch = queries[start : start + _BATCH]
        found = [one for made in reformulators for one in SearchPath(made, retriever, fusion).search(batch, depth)]
        made = [
            Reformulation(query, candidate.route, candidate.sub_queries, candidate.form)
            for query in batch
            for candidate in candidates.get(query.id, ())
        ]
        found += search(made, retriever, fusion, _CANDIDATE_DEPTH, _CANDIDATE_DEPTH)
        for result in found:
            lists[result.reformulation.query.id].append(result.fused.doc_ids)
    by_rank = {query_id: [d for rank in zip_longest(*some) for d in rank if d] for query_id, some in lists.items()}
    return {query_id: list(dict.fromkeys(ids))[:most] for query_id, ids in by_rank.items()}


def judge_by_model(pairs: Sequence[Pair], model: LanguageModel) -> list[Grade]:
    """Asks a language model for each pair; returns one grade per pair, in input order.

    Raises:
        ConfigError: no pair got a grade.
    """
    completions = model.generate([conversation_for(pair) for pair in pairs], _GRADE)
    grades = [reply["grade"] if (reply := read_reply(c, _GRADE)) else problem_of(c) for c in completions]
    if grades and all(isinstance(grade, str) for grade in grades):
        raise ConfigError(f"There is no grade for any of the {len(grades)} pairs ({grades[0]}); check the model.")
    return grades


def relevance(graded: Mapping[Pair, Grade]) -> Qrels:
    """Judgements of the pairs that have a grade: 2 and 1 for the grades 3 and 2, otherwise 0."""
    qrels: Qrels = {}
    for (query, document), grade in graded.items():
        if isinstance(grade, int):
            qrels.setdefault(query.id, {})[document.id] = max(0, grade - RELEVANT + 1)
    return qrels


def conversation_for(pair: Pair) -> Conversation:
    """The prompt for a pair; its texts are made safe for a prompt."""
    turns = [untrusted(str(turn))[:500] for turn in pair.query.history[-_TURNS:]]
    asked = [*turns, f"Question: {untrusted(pair.query.text)[:1000]}", f"Passage: {untrusted(part_to_read(pair))}"]
    return with_examples(_INSTRUCTIONS, _EXAMPLES, "\n".join(asked))


def part_to_read(pair: Pair) -> str:
    """The document as a judge reads it: of a long one, the part that shares most words with what the user said."""
    query, document = pair
    said = " ".join([query.text, *(turn.text for turn in query.history if turn.speaker == "user")])
    return passage_text(replace(document, text=window(document.text, said, _CHARACTERS)[1]))
