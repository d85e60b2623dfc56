"""Asks a language model for questions about a corpus, and adds changes of topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.labelling.drafts import TOPIC_CHANGE, Draft
from acqo_rl.labelling.extracts import answer_of
from acqo_rl.labelling.filters import CALL_FAILED, NOT_READABLE, FilteredQuestions
from acqo_rl.labelling.writing import Question, complete, read_question
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Query, Turn


def ask(drafts: Sequence[Draft], model: LanguageModel) -> FilteredQuestions:
    """Asks the model once per draft. A dropped question has the problem or the reply as its text.

    Raises:
        ConfigError: every call failed.
    """
    asked = FilteredQuestions([], {CALL_FAILED: [], NOT_READABLE: []})
    completions = complete(drafts, model)
    for number, (draft, completion) in enumerate(zip(drafts, completions, strict=True), start=1):
        query_id = f"{draft.kind}-{number}"
        if completion.problem is not None:
            asked.dropped[CALL_FAILED].append(Question(draft, Query(query_id, completion.problem)))
        elif question := read_question(draft, completion, query_id):
            asked.kept.append(question)
        else:
            asked.dropped[NOT_READABLE].append(Question(draft, Query(query_id, completion.text)))
    if len(asked.dropped[CALL_FAILED]) == len(drafts):
        raise ConfigError(f"All {len(drafts)} calls of the model failed ({completions[0].problem}); check its server.")
    return asked


def add_topic_changes(filtered: FilteredQuestions) -> None:
    """Adds simple questions again, each after a conversation about another document of the same split."""
    follow_ups = [question for question in filtered.kept if question.query.history]
    simple = [question for question in filtered.kept if question.draft.kind == "simple"]
    for number, before in enumerate(follow_ups, start=1):
        draft = before.draft
        others = (q for q in simple if q.draft.split == draft.split and q.draft.documents != draft.documents)
        if other := next(others, None):
            simple.remove(other)
            history = (*before.query.history, Turn("user", before.query.text), answer_of(draft))
            query = Query(f"{TOPIC_CHANGE}-{number}", other.query.text, history)
            filtered.kept.append(Question(replace(other.draft, kind=TOPIC_CHANGE), query))
