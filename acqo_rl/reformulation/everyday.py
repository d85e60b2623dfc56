"""A hundred everyday questions with labels, and the number of them that a reformulator rewrites well.

Nothing is searched. A policy that reads feedback answers without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import permutations

from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation, Route


@dataclass(frozen=True, slots=True)
class EverydayQuestion:
    """A question and what a good rewrite contains.

    Attributes:
        query: without conversation.
        kind: what is special about it: a comparison, a name with "and", a single term, and so on.
        route: the route that it needs.
        needs: the words that each sub-query must contain; empty if the question should pass.
    """

    query: Query
    kind: str
    route: Route
    needs: tuple[tuple[str, ...], ...]


def everyday_questions() -> list[EverydayQuestion]:
    """The questions. Their author had not seen the rules, and no rule may be changed to suit one of them."""
    lines = files("acqo_rl.reformulation").joinpath("everyday_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        EverydayQuestion(
            Query(str(number), row["text"]), row["kind"], row["route"], tuple(map(tuple, row.get("needs", ())))
        )
        for number, row in enumerate(map(json.loads, lines))
    ]


def is_right(question: EverydayQuestion, answer: Reformulation) -> bool:
    """Whether the route and the sub-queries are right.

    Each need of a compound question must have its own sub-query, which contains all of its words and no word that only
    another need has. At least two readings of an ambiguous question must be searched.
    """
    if answer.route != question.route:
        return False
    texts = [sub_query.text for sub_query in answer.sub_queries]
    if question.route == "decompose":
        suits = [[_suits(text, need, question.needs) for text in texts] for need in question.needs]
        places = permutations(range(len(texts)), len(suits))
        return any(all(row[place] for row, place in zip(suits, chosen, strict=True)) for chosen in places)
    if question.route == "disambiguate":
        return sum(any(_holds_all(text, need) for text in texts) for need in question.needs) >= 2
    return True


def well_rewritten(reformulator: Reformulator, questions: Sequence[EverydayQuestion]) -> list[bool]:
    """Whether each question is rewritten well, in input order."""
    answers = reformulator.reformulate([question.query for question in questions])
    return [is_right(question, answer) for question, answer in zip(questions, answers, strict=True)]


def _suits(text: str, need: Iterable[str], needs: Iterable[tuple[str, ...]]) -> bool:
    foreign = {word for other in needs for word in other} - set(need)
    return _holds_all(text, need) and not any(_holds(text, word) for word in foreign)


def _holds_all(text: str, words: Iterable[str]) -> bool:
    return all(_holds(text, word) for word in words)


def _holds(text: str, word: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I))
