"""Decomposition into sub-questions that may depend on each other; searched and answered in topological order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from acqo_rl.pipeline.context import cut, numbered, question
from acqo_rl.pipeline.roles import BudgetedModel, PassageSearch
from acqo_rl.pipeline.state import RetrievalState, SubQuestion
from acqo_rl.replies.answers import read_answer
from acqo_rl.replies.counts import uncounted
from acqo_rl.replies.fields import first_of, read_ids, read_search, read_text
from acqo_rl.replies.lists import entries_of
from acqo_rl.replies.marks import bare, counted, is_marked, with_colon
from acqo_rl.replies.ordinals import without_counting_labels
from acqo_rl.replies.sub_questions import one_field_a_line
from acqo_rl.replies.values import read_json
from acqo_rl.text import normalised, text_of
from acqo_rl.types import Query

MOST = 4

_DECOMPOSE = """\
Split the question into 2 to 4 short questions that together answer it, each complete in itself. A simple question
stays as it is. Do not answer it. Reply with two lines a question and nothing else: the question after SUB1, SUB2, ...,
and after DEPENDS the one whose answer it needs, or none."""
_EXAMPLES = (
    (
        "Question: Which is taller, the Eiffel Tower or Big Ben?",
        "SUB1: How tall is the Eiffel Tower?\nDEPENDS: none\nSUB2: How tall is Big Ben?\nDEPENDS: none",
    ),
    ("Question: How far is the Moon?", "SUB1: How far is the Moon?\nDEPENDS: none"),
    (
        "Question: Where was the director of Jaws born?",
        "SUB1: Who directed Jaws?\nDEPENDS: none\nSUB2: Where was the director of Jaws born?\nDEPENDS: SUB1",
    ),
)

_ANSWER = "Briefly answer the question from the passages, in a few words. Write none if they do not tell."
_ANSWER_CHARACTERS, _BRIEF_CHARACTERS = 2000, 200

_DEPENDS = re.compile(r"^[\W_]*depend(?:s|encies|ency)?(?:[ _-]*on)?[\s*_`]*[:=]\s*(.*)$", re.I)


class Decomposer:
    """Splits the question with one model call, then searches and answers its sub-questions.

    If the first search has already split the question, its sub-questions have passages and are only answered.
    """

    name = "decomposition"

    def __init__(self, search: PassageSearch, model: BudgetedModel, k: int = 3) -> None:
        """Creates the step.

        Args:
            search: searches passages.
            model: splits the question and answers the sub-questions.
            k: passages per sub-question.
        """
        self._search = search
        self._model = model
        self._k = k

    def run(self, state: RetrievalState) -> None:
        """Adds sub-questions with passages and answers; without a model, the question is the only sub-question."""
        if state.sub_questions:
            self._answer_level(state, state.sub_questions)
            return
        [reply] = self._model.ask(state, self.name, _DECOMPOSE, [question(state.query)], examples=_EXAMPLES)
        state.sub_questions = read_sub_questions(reply or "", state.query)
        if _is_whole(state) and reply is not None and normalised(state.query.text) not in normalised(reply):
            state.misread(self.name, f"found no sub-questions in {reply[:80]!r}")
        try:
            levels = list(levels_of(state.sub_questions))
        except CycleError as error:
            state.misread(
                self.name, f"the sub-questions have circular dependencies ({error.args[1]}); the question is not split"
            )
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
        found = self._search.search(state, self.name, [part.text for part in level], self._k)
        for part, chunks in zip(level, found, strict=True):
            part.doc_ids = tuple(chunk.document.id for chunk in chunks)

    def _answer_level(self, state: RetrievalState, level: list[SubQuestion]) -> None:
        parts = [part for part in level if part.doc_ids]
        contents = []
        for part in parts:
            passages = numbered([state.chunks[doc_id] for doc_id in part.doc_ids], part.text, _ANSWER_CHARACTERS)
            contents.append(f"Passages:\n{passages}\n\nQuestion: {part.text}")
        for part, reply in zip(parts, self._model.ask(state, "sub_answer", _ANSWER, contents), strict=True):
            part.answer = cut(read_text(read_answer(reply or "", part.text)), _BRIEF_CHARACTERS)


def read_sub_questions(reply: str, query: Query) -> list[SubQuestion]:
    """Parses sub-questions: JSON, or lines "SUB1: ..." and "DEPENDS: ..." in any formatting; else the query itself.

    Dependencies on missing sub-questions are dropped.
    """
    read = list(_from_json(read_json(reply))) or list(_from_lines(reply, text_of(query)))
    by_text = {normalised(part.text): part for part in reversed(read) if normalised(part.text)}
    parts = list(reversed(by_text.values()))[:MOST]
    ids = {part.id for part in parts}
    if len(ids) < len(parts) or not parts or (len(parts) == 1 and normalised(query.text) in by_text):
        return [SubQuestion(1, query.text, kind="original")]
    for part in parts:
        part.depends_on = tuple(i for i in part.depends_on if i in ids)
    return parts


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


def _from_json(value: Any) -> Iterator[SubQuestion]:
    if isinstance(value, dict):
        lists = (item for item in value.values() if isinstance(item, list))
        value = value.get("sub_questions") or next(lists, [])
    for position, item in enumerate(value if isinstance(value, list) else [], start=1):
        fields = {str(key).lower(): entry for key, entry in item.items()} if isinstance(item, dict) else {}
        text = read_search(first_of(fields, "question", "query", "sub_question", "text") if fields else item)
        ids = read_ids(first_of(fields, "id"))
        if text:
            depends_on = read_ids(first_of(fields, "depends_on", "depends", "dependency", "dependencies"))
            yield SubQuestion(ids[0] if ids else position, text, depends_on)


def _from_lines(reply: str, read: str) -> Iterator[SubQuestion]:
    part: SubQuestion | None = None
    lines = list(map(with_colon, one_field_a_line(reply).splitlines()))
    labelled = 0
    for line, text in zip(lines, uncounted(without_counting_labels(lines, read), read), strict=True):
        depends, sub = _DEPENDS.match(line), counted(line)
        if sub is None and text != line:
            labelled += 1
            sub = labelled, bare(text)
        if depends and part:
            part.depends_on = read_ids(depends.group(1))
        elif sub:
            if part:
                yield part
            part = SubQuestion(sub[0], read_search(sub[1], read))
    if part:
        yield part
    elif sum(map(is_marked, lines)) > 1:
        texts = entries_of(reply, read=read)
        yield from (SubQuestion(number, text) for number, text in enumerate(texts, start=1))
