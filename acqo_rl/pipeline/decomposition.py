"""Decomposition into sub-questions that may depend on each other; searched and answered in topological order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from acqo_rl.language_models.structured import INTEGER, fields, or_none, several, text
from acqo_rl.pipeline.calls import BudgetedModel, PassageSearch, Task
from acqo_rl.pipeline.context import numbered
from acqo_rl.pipeline.state import RetrievalState, SubQuestion
from acqo_rl.reformulation.strategies import question_text
from acqo_rl.searching.result import Failure
from acqo_rl.text import normalised
from acqo_rl.types import Query

MOST = 4
_ANSWER_CHARACTERS = 2000


def _part(number: int, asked: str, *depends_on: int) -> dict[str, Any]:
    return {"id": number, "question": asked, "depends_on": [*depends_on]}


SPLIT = Task(
    """\
Split the question into 2 to 4 short questions that together answer it, each complete in itself. A simple question
stays as it is. Do not answer it. Reply with JSON: each question with a number as its id, and the ids of the questions
whose answers it needs.""",
    fields(questions=several(fields(id=INTEGER, question=text(), depends_on=several(INTEGER, MOST, least=0)), MOST)),
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

    def run(self, state: RetrievalState) -> None:
        """Adds sub-questions with passages and answers; without a model, the question is the only sub-question."""
        if state.sub_questions:
            self._answer_level(state, state.sub_questions)
            return
        [reply] = self.model.ask(state, self.name, SPLIT, [question_text(state.query)])
        state.sub_questions = sub_questions_of(reply["questions"] if reply else [], state.query)
        try:
            levels = list(levels_of(state.sub_questions))
        except CycleError as error:
            reason = f"the sub-questions have circular dependencies ({error.args[1]}); the question is not split"
            state.fail(Failure(self.name, reason, reason))
            state.sub_questions = [SubQuestion(1, state.query.text, kind="original")]
            levels = [state.sub_questions]
        if _is_whole(state) and state.has_searched(state.query.text):
            return
        for level in levels:
            self._search_level(state, level)
            if not _is_whole(state):
                self._answer_level(state, level)

    def _search_level(self, state: RetrievalState, level: list[SubQuestion]) -> None:
        for part in level:
            known = [other.answer for other in state.sub_questions if other.id in part.depends_on and other.answer]
            if known:
                part.text = f"{part.text} (Context: {'; '.join(known)})"
        found = self.search.search(state, self.name, [part.text for part in level], self.k)
        for part, chunks in zip(level, found, strict=True):
            part.doc_ids = tuple(chunk.document.id for chunk in chunks)

    def _answer_level(self, state: RetrievalState, level: list[SubQuestion]) -> None:
        parts = [part for part in level if part.doc_ids]
        contents = []
        for part in parts:
            passages = numbered([state.found[doc_id] for doc_id in part.doc_ids], part.text, _ANSWER_CHARACTERS)
            contents.append(f"Passages:\n{passages}\n\nQuestion: {part.text}")
        replies = self.model.ask(state, "sub_answer", BRIEF_ANSWER, contents)
        for part, reply in zip(parts, replies, strict=True):
            part.answer = (reply["answer"] or "") if reply else ""


def sub_questions_of(rows: Sequence[dict[str, Any]], query: Query) -> list[SubQuestion]:
    """The sub-questions in a reply, without repetitions; the query itself if there are none, or if ids are not unique.

    Dependencies on missing sub-questions are dropped.
    """
    by_text = {normalised(row["question"]): row for row in reversed(rows)}
    parts = list(reversed(by_text.values()))
    ids = {row["id"] for row in parts}
    if len(ids) < len(parts) or not parts or (len(parts) == 1 and normalised(query.text) in by_text):
        return [SubQuestion(1, query.text, kind="original")]
    return [
        SubQuestion(row["id"], row["question"], tuple(other for other in row["depends_on"] if other in ids))
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


def _is_whole(state: RetrievalState) -> bool:
    return state.sub_questions[0].kind == "original"
