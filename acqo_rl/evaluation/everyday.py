"""A hundred everyday questions with what each needs, and how many of them a reformulator rewrites well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import permutations

from acqo_rl.evaluation.tables import Table
from acqo_rl.types import Query, Reformulation, Reformulator, Route


@dataclass(frozen=True, slots=True)
class EverydayQuestion:
    """A question and what a good rewrite of it holds.

    Attributes:
        query: without conversation.
        kind: what is special about it: a comparison, a name with "and", a bare term, and so on.
        route: that it needs.
        needs: the words that each sub-query must hold; empty where the question should pass.
    """

    query: Query
    kind: str
    route: Route
    needs: tuple[tuple[str, ...], ...]


def everyday_questions() -> list[EverydayQuestion]:
    """The questions; their author had not seen the rules, and no rule may be changed to suit one of them."""
    lines = files("acqo_rl.evaluation").joinpath("everyday_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        EverydayQuestion(
            Query(str(number), row["text"]), row["kind"], row["route"], tuple(map(tuple, row.get("needs", ())))
        )
        for number, row in enumerate(map(json.loads, lines))
    ]


def is_right(question: EverydayQuestion, answer: Reformulation) -> bool:
    """Whether the route fits, and the sub-queries hold what they must.

    A need of a compound question has a sub-query of its own, which holds all of its words and none that only another
    need holds. At least two readings of an ambiguous question are searched.
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
    """Whether each question is rewritten well, position for position."""
    answers = reformulator.reformulate([question.query for question in questions])
    return [is_right(question, answer) for question, answer in zip(questions, answers, strict=True)]


def everyday_table(questions: Sequence[EverydayQuestion], found: Mapping[str, Sequence[bool]]) -> Table:
    """One row a kind and route, one column a reformulator.

    Args:
        questions: all of them.
        found: name of a reformulator -> whether each question is rewritten well.
    """
    groups: dict[str, list[int]] = {}
    for i, question in enumerate(questions):
        for group in (question.route, f"{question.route}: {question.kind}"):
            groups.setdefault(group, []).append(i)
    rows = [
        (group, str(len(places)), *(str(sum(right[i] for i in places)) for right in found.values()))
        for group, places in [*sorted(groups.items()), ("all", list(range(len(questions))))]
    ]
    note = "Number of questions whose route and sub-queries are right."
    return Table("Everyday questions", note, ("kind", "questions", *found), tuple(rows))


def _suits(text: str, need: Iterable[str], needs: Iterable[tuple[str, ...]]) -> bool:
    foreign = {word for other in needs for word in other} - set(need)
    return _holds_all(text, need) and not any(_holds(text, word) for word in foreign)


def _holds_all(text: str, words: Iterable[str]) -> bool:
    return all(_holds(text, word) for word in words)


def _holds(text: str, word: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I))
