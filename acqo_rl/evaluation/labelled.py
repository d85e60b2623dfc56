"""Labelled questions of the package: how well the rules classify them, and how well reformulators rewrite them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import wilson
from acqo_rl.evaluation.tables import Table
from acqo_rl.reformulation.adaptive import BY_TYPE
from acqo_rl.reformulation.classify import Classification, classify, is_unsure
from acqo_rl.reformulation.everyday import EverydayQuestion, everyday_questions, well_rewritten
from acqo_rl.reformulation.heuristic import rewrite
from acqo_rl.reformulation.labelled import (
    Agreement,
    LabelledQuestion,
    agreement,
    held_out_questions,
    labelled_questions,
)
from acqo_rl.reformulation.load import StrategySettings, max_calls
from acqo_rl.reformulation.query_types import query_type_of
from acqo_rl.roles import Reformulator
from acqo_rl.text import one_line
from acqo_rl.types import QueryType

WHATS = ("query_type", "route", "challenges")
"""The labels of a question, by a person and by the rules."""

_INCOMPLETE = {"decompose": "answered in part", "disambiguate": "one meaning only"}


@dataclass(frozen=True, slots=True)
class Judged:
    """The rules on one set of questions.

    Attributes:
        name: of the set.
        questions: with a person's labels.
        found: the rules' labels, in the order of the questions.
        agreements: label -> agreement; challenges are right only if all of them are.
    """

    name: str
    questions: Sequence[LabelledQuestion]
    found: Sequence[Classification]
    agreements: Mapping[str, Agreement]

    def accuracy(self, what: str) -> tuple[float, float, float]:
        """Share of questions with equal labels, and the ends of its 95 % interval."""
        right = sum(_label(q, what) == _label(c, what) for q, c in zip(self.questions, self.found, strict=True))
        return right / len(self.questions), *wilson(right, len(self.questions))

    def unsure(self) -> float:
        """Share of questions for which a model would be asked for the challenges."""
        asked = [
            is_unsure(one_line(q.query.text), c.challenges) for q, c in zip(self.questions, self.found, strict=True)
        ]
        return sum(asked) / len(asked)

    def confused(self, what: str) -> Counter[tuple[str, str]]:
        """(label, predicted label) -> number of questions, for labels that differ."""
        pairs = ((_label(q, what), _label(c, what)) for q, c in zip(self.questions, self.found, strict=True))
        return Counter(pair for pair in pairs if pair[0] != pair[1])


@cache
def judge_rules() -> tuple[Judged, Judged]:
    """The rules on the questions with which they were written, and on held-out questions."""
    return judge("seen", labelled_questions()), judge("held out", held_out_questions())


def judge(name: str, questions: Sequence[LabelledQuestion]) -> Judged:
    """The rules on a set of questions."""
    found = [classify(question.query) for question in questions]
    agreements = {
        what: agreement([_label(q, what) for q in questions], [_label(c, what) for c in found]) for what in WHATS
    }
    return Judged(name, questions, found, agreements)


def classifier_tables(judged: Sequence[Judged], group: Sequence[Evaluation], measure: str) -> Iterator[Table]:
    """Accuracy, confusion matrices, and the cost of each confusion.

    Args:
        judged: see ``judge_rules``.
        group: systems that differ only in their reformulators; they show what each strategy finds.
        measure: of the loss.
    """
    yield _accuracies(judged)
    for what in ("query_type", "route"):
        for one in judged:
            yield _matrix(one, what)
    if any(one.confused("query_type") for one in judged):
        yield _costs_of_types(judged, group, measure)
    if any(one.confused("route") for one in judged):
        yield _costs_of_routes(judged)


def classifier_content(judged: Sequence[Judged]) -> dict[str, Any]:
    """The same for ``summary.json``; undefined rates are ``None``."""
    return {
        one.name: {
            "questions": len(one.questions),
            "unsure": one.unsure(),
            **{what: _content(one, what) for what in WHATS},
        }
        for one in judged
    }


def judge_everyday(reformulators: Mapping[str, Reformulator]) -> tuple[Table, dict[str, int]]:
    """The table of everyday questions, and the number of right rewrites of each reformulator."""
    questions = everyday_questions()
    found = {name: well_rewritten(reformulator, questions) for name, reformulator in reformulators.items()}
    return everyday_table(questions, found), {name: sum(right) for name, right in found.items()}


def everyday_table(questions: Sequence[EverydayQuestion], found: Mapping[str, Sequence[bool]]) -> Table:
    """One row per route and kind, one column per reformulator.

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
    note = (
        "A hundred questions of the package; nothing is searched. Number of questions with right route and sub-queries."
    )
    return Table("Everyday questions", note, ("kind", "questions", *found), tuple(rows))


def _content(judged: Judged, what: str) -> dict[str, Any]:
    agreed, (accuracy, low, high) = judged.agreements[what], judged.accuracy(what)
    rates = {"precision": agreed.precision, "recall": agreed.recall}
    return {
        "accuracy": accuracy,
        "low": low,
        "high": high,
        **{name: {k: None if math.isnan(v) else v for k, v in rate.items()} for name, rate in rates.items()},
        "confusion": agreed.confusion,
    }


def _label(labelled: LabelledQuestion | Classification, what: str) -> str:
    value = getattr(labelled, what)
    return " ".join(sorted(value)) if isinstance(value, tuple) else str(value)


def _accuracies(judged: Sequence[Judged]) -> Table:
    rows = []
    for one in judged:
        for what in WHATS:
            accuracy, low, high = one.accuracy(what)
            interval = f"{accuracy:.1%} [{low:.1%}, {high:.1%}]"
            unsure = f"{one.unsure():.1%}" if what == "challenges" else "-"
            rows.append((one.name, what, str(len(one.questions)), interval, unsure))
    note = (
        "The rules that choose strategy and route without a model, on questions labelled by hand in five languages. "
        "The rules were corrected on the seen questions. The held-out questions were labelled before the rules were "
        "run on them, and no rule was changed because of them. Wilson's 95 % intervals. Asks a model: share of "
        "questions that the rules cannot decide: long ones, and those of medium length without any sign."
    )
    header = ("questions", "what", "number", "accuracy", "asks a model")
    return Table("Classifier: accuracy", note, header, tuple(rows), labels=2)


def _matrix(one: Judged, what: str) -> Table:
    agreed = one.agreements[what]
    rows = tuple(
        (label, *(str(n) for n in row.values()), f"{agreed.recall[label]:.1%}")
        for label, row in agreed.confusion.items()
        if sum(row.values())
    )
    note = f"Number of {one.name} questions by a person's label (rows) and the rules' (columns)."
    header = ("", *agreed.confusion, "found")
    return Table(f"Classifier: {what.replace('_', ' ')}, {one.name} questions", note, header, rows)


def _costs_of_types(judged: Sequence[Judged], group: Sequence[Evaluation], measure: str) -> Table:
    by_name = {evaluation.name: evaluation for evaluation in group}
    rows = []
    for label, predicted, counts in _confusions(judged, "query_type"):
        fitting, chosen = (BY_TYPE[cast(QueryType, query_type)] for query_type in (label, predicted))
        wasted, lost, queries = "-", "-", 0
        if fitting in by_name and chosen in by_name:
            pairs = [
                (right, wrong)
                for right, wrong in zip(by_name[fitting].results, by_name[chosen].results, strict=True)
                if query_type_of(right.reformulation.query.text) == label
            ]
            queries = len(pairs)
            if pairs:
                wasted = f"{sum(wrong.searches - right.searches for right, wrong in pairs) / queries:+.2f}"
                gain = sum(right.measures[measure] - wrong.measures[measure] for right, wrong in pairs) / queries
                lost = f"{gain:+.3f}"
        calls = f"{max_calls(chosen, StrategySettings()) - max_calls(fitting, StrategySettings()):+d}"
        rows.append((label, predicted, *counts, fitting, chosen, calls, wasted, lost, str(queries)))
    note = (
        "Each pair of types that the rules confuse, with the strategies that the adaptive choice selects for them. "
        "Calls: model calls of the chosen strategy minus those of the fitting one. Searches and loss are measured on "
        "the queries of this study whose type by the rules is the left one, if both strategies are evaluated; a "
        "negative loss means that the chosen strategy did better."
    )
    header = (
        *("type", "taken for", *(one.name for one in judged), "fitting", "chosen"),
        *("calls", "searches wasted", f"{measure} lost", "queries"),
    )
    return Table("What a wrong type costs", note, header, tuple(rows), labels=2)


def _costs_of_routes(judged: Sequence[Judged]) -> Table:
    searches: dict[tuple[str, str], list[int]] = {}
    for one in judged:
        for question, found in zip(one.questions, one.found, strict=True):
            written = rewrite(question.query, found.route)
            searches.setdefault((question.route, found.route), []).append(len(written))
    rows = []
    for label, predicted, counts in _confusions(judged, "route"):
        made_for = searches[label, predicted]
        wasted = f"{sum(made_for) / len(made_for) - 1:+.2f}" if label == "pass" else "-"
        rows.append((label, predicted, *counts, wasted, _INCOMPLETE.get(label, "-")))
    note = (
        "Each pair of routes that the rules confuse. A query that should pass costs further searches. A query that "
        "should not pass is answered in part, or in its most frequent meaning only; if the data set has kinds of "
        "queries, the table above shows the loss."
    )
    header = ("route", "taken for", *(one.name for one in judged), "searches wasted", "otherwise")
    return Table("What a wrong route costs the labelled questions", note, header, tuple(rows), labels=2)


def _confusions(judged: Sequence[Judged], what: str) -> list[tuple[str, str, list[str]]]:
    """Label, predicted label, and number of questions in each set; the most frequent pair first."""
    counts = [one.confused(what) for one in judged]
    pairs = sorted(set().union(*counts), key=lambda pair: (-sum(count[pair] for count in counts), pair))
    return [(label, predicted, [str(count[label, predicted]) for count in counts]) for label, predicted in pairs]
