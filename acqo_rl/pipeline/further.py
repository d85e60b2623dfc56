"""A model writes further searches: for gaps in the passages, and for the parts of the question.

Parts may depend on each other; they are searched and answered in topological order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, Literal

from acqo_rl.language_models.structured import BOOLEAN, INTEGER, fields, or_none, searched, several, text
from acqo_rl.pipeline.calls import BudgetedModel, PassageSearch, Task
from acqo_rl.pipeline.context import asked, numbered
from acqo_rl.pipeline.state import RetrievalState, Round, SubQuestion
from acqo_rl.reformulation.prompted import question_text
from acqo_rl.searching.result import Failure
from acqo_rl.text import known_share, normalised
from acqo_rl.types import Query

_READ_CHUNKS, _READ_CHARACTERS = 8, 300
_MOST_GAPS: dict[Literal["multi_hop", "self_query"], int] = {"multi_hop": 1, "self_query": 5}
"""Maximum number of searches that the model writes in one call."""

GAPS = Task(
    """\
Do the passages hold all that is needed to answer the question? If something is missing, write one complete search for
each gap, the most important first. Name in it what the passages already tell. Do not answer the question. Reply with
JSON: whether they are complete, and the searches for what is missing.""",
    fields(complete=BOOLEAN, missing=several(searched(), max(_MOST_GAPS.values()), least=0)),
    (
        (
            "Passages:\n(1) Eiffel Tower: The tower stands in Paris and is 330 metres tall.\n\n"
            "Question: How tall is the Eiffel Tower?",
            {"complete": True, "missing": []},
        ),
        (
            "Passages:\n(1) Jaws: Jaws is a film of 1975 by Steven Spielberg.\n\n"
            "Question: Where was the director of Jaws born?",
            {"complete": False, "missing": ["Steven Spielberg place of birth"]},
        ),
    ),
)


@dataclass(frozen=True)
class GapSearch:
    """Follows a chain of facts: each round makes one search, and one model call that finds the next one.

    The hops of the first search are the first rounds, without a model call. ``multi_hop`` reads one gap per round.
    ``self_query`` reads several, and searches the first that is new.

    Attributes:
        name: which kind.
        rounds: maximum number of searches, including the first one and hops.
        k: passages per search.
    """

    name: Literal["multi_hop", "self_query"]
    search: PassageSearch
    model: BudgetedModel
    rounds: int = 3
    k: int = 3

    def run(self, state: RetrievalState) -> RetrievalState:
        """Adds rounds and passages until nothing is missing, there is no new gap, or the limit is reached."""
        if not state.journal.has_searched(state.query.text):
            self.search.passages(state, f"{self.name} 1", [state.query.text], self.k)
        first = Round(1, state.query.text, tuple(chunk.document.id for chunk in state.chunks))
        rounds = list(state.hops or [first])
        reason = f"the limit of {self.rounds} searches is reached"
        while len(rounds) < self.rounds:
            read = state.chunks[:_READ_CHUNKS]
            passages = numbered(read, asked(state), _READ_CHARACTERS * len(read))
            content = f"Passages:\n{passages}\n\n{question_text(state.query)}"
            [reply] = self.model.ask(state, self.name, GAPS, [content])
            if reply is None:
                reason = "no reply"
                break
            complete = reply["complete"]
            written = reply["missing"][: _MOST_GAPS[self.name]]
            missing = tuple(gap for gap in written if known_share(gap, content))
            for strange in set(written).difference(missing):
                fault = f"{strange!r} shares no word with the question and the passages"
                state.journal.fail(Failure(self.name, fault, fault))
            rounds[-1] = replace(rounds[-1], complete=complete, missing=missing)
            text = next((gap for gap in missing if not state.journal.has_searched(gap)), "")
            if complete or not text:
                reason = "complete" if complete else f"no new gap in {missing}"
                break
            number = len(rounds) + 1
            [found] = self.search.passages(state, f"{self.name} {number}", [text], self.k)
            rounds.append(Round(number, text, tuple(chunk.document.id for chunk in found)))
        state.journal.trace.add(self.name, f"stopped: {reason}")
        return replace(state, hops=tuple(rounds))


_MOST_PARTS = 4
_ANSWER_CHARACTERS = 2000


def _part(number: int, question: str, *depends_on: int) -> dict[str, Any]:
    return {"id": number, "question": question, "depends_on": [*depends_on]}


SPLIT = Task(
    """\
Split the question into 2 to 4 short questions that together answer it, each complete in itself. A simple question
stays as it is. Do not answer it. Reply with JSON: each question with a number as its id, and the ids of the questions
whose answers it needs.""",
    fields(
        questions=several(
            fields(id=INTEGER, question=searched(), depends_on=several(INTEGER, _MOST_PARTS, least=0)), _MOST_PARTS
        )
    ),
    (
        (
            "Question: Which is taller, the Eiffel Tower or Big Ben?",
            {"questions": [_part(1, "How tall is the Eiffel Tower?"), _part(2, "How tall is Big Ben?")]},
        ),
        ("Question: How far is the Moon?", {"questions": [_part(1, "How far is the Moon?")]}),
        (
            "Question: Where was the director of Jaws born?",
            {"questions": [_part(1, "Who directed Jaws?"), _part(2, "Where was the director of Jaws born?", 1)]},
        ),
    ),
)
BRIEF_ANSWER = Task(
    "Briefly answer the question from the passages, in a few words, as JSON. The answer is null if they do not tell.",
    fields(answer=or_none(text())),
    (
        (
            "Passages:\n(1) Jaws: Jaws is a film of 1975 by Steven Spielberg.\n\nQuestion: Who directed Jaws?",
            {"answer": "Steven Spielberg"},
        ),
        ("Passages:\n(1) Big Ben: It is a bell in London.\n\nQuestion: How tall is Big Ben?", {"answer": None}),
    ),
)


@dataclass(frozen=True)
class Decomposer:
    """Splits the question with one model call, then searches and answers its sub-questions.

    If the first search has already split the question, its sub-questions have passages and are only answered.

    Attributes:
        k: passages per sub-question.
    """

    search: PassageSearch
    model: BudgetedModel
    k: int = 3

    name = "decomposition"

    def run(self, state: RetrievalState) -> RetrievalState:
        """Adds sub-questions with passages and answers; without a model, the question is the only sub-question."""
        if state.sub_questions:
            parts = [replace(part) for part in state.sub_questions]
            self._answer_level(state, parts)
            return replace(state, sub_questions=tuple(parts))
        [reply] = self.model.ask(state, self.name, SPLIT, [question_text(state.query)])
        try:
            parts = sub_questions_of(reply["questions"] if reply else [], state.query)
            levels = list(levels_of(parts))
        except ValueError as error:  # a CycleError is one
            cause = " ".join(map(str, error.args))
            reason = f"the sub-questions do not fit together ({cause}); the question is not split"
            state.journal.fail(Failure(self.name, reason, reason))
            parts = [SubQuestion(1, state.query.text, kind="original")]
            levels = [parts]
        is_whole = parts[0].kind == "original"
        if not (is_whole and state.journal.has_searched(state.query.text)):
            for level in levels:
                self._search_level(state, level, parts)
                if not is_whole:
                    self._answer_level(state, level)
        return replace(state, sub_questions=tuple(parts))

    def _search_level(self, state: RetrievalState, level: list[SubQuestion], parts: list[SubQuestion]) -> None:
        for part in level:
            known = [other.answer for other in parts if other.id in part.depends_on and other.answer]
            if known:
                part.text = f"{part.text} (Context: {'; '.join(known)})"
        found = self.search.passages(state, self.name, [part.text for part in level], self.k)
        for part, chunks in zip(level, found, strict=True):
            part.doc_ids = tuple(chunk.document.id for chunk in chunks)

    def _answer_level(self, state: RetrievalState, level: list[SubQuestion]) -> None:
        parts = [part for part in level if part.doc_ids]
        found = state.passages.found
        passages = [numbered([found[d] for d in part.doc_ids], part.text, _ANSWER_CHARACTERS) for part in parts]
        contents = [f"Passages:\n{p}\n\nQuestion: {part.text}" for p, part in zip(passages, parts, strict=True)]
        replies = self.model.ask(state, "sub_answer", BRIEF_ANSWER, contents)
        for part, reply in zip(parts, replies, strict=True):
            part.answer = (reply["answer"] or "") if reply else ""


def sub_questions_of(rows: Sequence[dict[str, Any]], query: Query) -> list[SubQuestion]:
    """The sub-questions in a reply, without repetitions; the query itself if there are none.

    Raises:
        ValueError: two questions have the same id, or one depends on an unknown one.
    """
    by_text = {normalised(row["question"]): row for row in reversed(rows)}
    kept = {row["id"]: by_text[normalised(row["question"])]["id"] for row in rows}
    parts = list(reversed(by_text.values()))
    if not parts or (len(parts) == 1 and normalised(query.text) in by_text):
        return [SubQuestion(1, query.text, kind="original")]
    if len(kept) < len(rows):
        raise ValueError(f"the ids are {[row['id'] for row in rows]}")
    if unknown := {other for row in parts for other in row["depends_on"]} - kept.keys():
        raise ValueError(f"there is no sub-question {min(unknown)}")
    return [
        SubQuestion(
            row["id"], row["question"], depends_on=tuple(dict.fromkeys(kept[other] for other in row["depends_on"]))
        )
        for row in parts
    ]


def levels_of(parts: Sequence[SubQuestion]) -> Iterator[list[SubQuestion]]:
    """Yields groups of sub-questions that can be searched together; each group depends only on earlier ones.

    Raises:
        CycleError: the dependencies are circular.
    """
    by_id = {part.id: part for part in parts}
    order = TopologicalSorter({part.id: part.depends_on for part in parts})
    order.prepare()
    while order.is_active():
        ready = order.get_ready()
        yield [by_id[i] for i in sorted(ready)]
        order.done(*ready)
