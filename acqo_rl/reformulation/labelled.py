"""Hand-labelled questions, and the agreement of a classifier with their labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import cast

import numpy as np

from acqo_rl.conversations import read_history
from acqo_rl.types import Challenge, Query, QueryType, Route


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, its language (ISO 639-1) and its labels."""

    query: Query
    language: str
    query_type: QueryType
    route: Route
    challenges: tuple[Challenge, ...]


def labelled_questions() -> list[LabelledQuestion]:
    """The development set: all types, routes and challenges in five languages; the rules were tuned on it."""
    return _read("labelled_questions.jsonl")


def held_out_questions() -> list[LabelledQuestion]:
    """The held-out set, labelled before the rules were run on it; the rules must not be tuned on it."""
    return _read("held_out_questions.jsonl")


def _read(name: str) -> list[LabelledQuestion]:
    lines = files("acqo_rl.reformulation").joinpath(name).read_text(encoding="utf-8").splitlines()
    return [
        LabelledQuestion(
            Query(str(number), row["text"], read_history(row.get("history"))),
            row["lang"],
            row["type"],
            row["route"],
            cast("tuple[Challenge, ...]", tuple(row["challenges"])),
        )
        for number, row in enumerate(map(json.loads, lines))
    ]


@dataclass(frozen=True)
class Agreement:
    """Agreement of predicted labels with true labels.

    Attributes:
        accuracy: share of correct predictions.
        precision: label -> precision; ``nan`` if the label was never predicted.
        recall: label -> recall; ``nan`` if no question has the label.
        confusion: true label -> predicted label -> number of questions.
    """

    accuracy: float
    precision: dict[str, float]
    recall: dict[str, float]
    confusion: dict[str, dict[str, int]]


def agreement(labels: Sequence[str], predicted: Sequence[str]) -> Agreement:
    """Compares predicted labels with true labels.

    Args:
        labels: true labels, at least one.
        predicted: predicted labels, in the same order.
    """
    names = sorted({*labels, *predicted})
    place = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), np.int64)
    for label, guess in zip(labels, predicted, strict=True):
        counts[place[label], place[guess]] += 1
    right = counts.diagonal()
    with np.errstate(invalid="ignore"):
        precision, recall = right / counts.sum(axis=0), right / counts.sum(axis=1)
    return Agreement(
        accuracy=float(right.sum() / counts.sum()),
        precision=dict(zip(names, precision.tolist(), strict=True)),
        recall=dict(zip(names, recall.tolist(), strict=True)),
        confusion={name: dict(zip(names, row, strict=True)) for name, row in zip(names, counts.tolist(), strict=True)},
    )
