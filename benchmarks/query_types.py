"""Trains the classifier of query types and prints its confusion matrix on held-out questions.

    python benchmarks/query_types.py

It is trained on ``questions/seen.jsonl``, ``questions/domains.jsonl`` and ``questions/phrasings.txt``, whose slots are
filled at random. The questions in ``held_out.jsonl`` and ``held_out_domains.jsonl`` were labelled before the classifier
was run on them.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rules import QUESTIONS, read

from acqo_rl.cli import command
from acqo_rl.reformulation.query_types import (
    CHALLENGES,
    FEATURES,
    TYPES,
    WEIGHTS,
    challenges_of,
    features_of,
    query_type_of,
)

MOST = 12
"""Number of questions from one phrasing."""
SEEN_WEIGHT = 3.0
"""Weight of a question that somebody wrote; one from a phrasing has weight 1."""
INVERSE_PENALTY = {"types": 20.0, "challenges": 100.0}
"""Chosen by cross-validation on the seen questions."""


@dataclass
class TypesConfig:
    """Settings of the training."""

    output: str = field(default=str(WEIGHTS), metadata={"help": "File of the weights."})
    seed: int = field(default=0, metadata={"help": "Seed of the questions from phrasings."})


class Labelled(NamedTuple):
    """A question, its type and its challenges."""

    text: str
    type: str
    challenges: Sequence[str]
    weight: float = 1.0


def labelled(name: str) -> list[Labelled]:
    """The labelled questions of a file."""
    return [Labelled(query.text, row["type"], row["challenges"], SEEN_WEIGHT) for query, row in read(name)]


def from_phrasings(seed: int) -> Iterator[Labelled]:
    """Questions from phrasings, some in lower case or without a question mark."""
    rng = random.Random(seed)
    phrasings, lists = (QUESTIONS / "phrasings.txt").read_text(encoding="utf-8").split("----\n")
    slots = {name: words.split(", ") for name, _, words in (line.partition(" | ") for line in lists.splitlines())}
    for line in phrasings.splitlines()[1:]:
        name, challenges, text = (part.strip() for part in line.split(" |", 2))
        for _ in range(min(MOST, 6 * text.count("{")) or 1):
            filled = re.sub(r"\{(\w+)\}", lambda match: rng.choice(slots[match[1]]), text)
            filled = filled.lower() if rng.random() < 0.35 else filled
            filled = filled.rstrip("?") if rng.random() < 0.25 else filled
            yield Labelled(filled, name, challenges.split())


def fit(questions: Sequence[Labelled]) -> np.ndarray[Any, Any]:
    """Weights, float16[types and challenges, features and a constant]."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    rows = [features_of(question.text) for question in questions]
    values = np.concatenate([np.full(len(row), len(row) ** -0.5) for row in rows])
    starts = np.cumsum([0, *map(len, rows)])
    matrix = csr_matrix((values, np.concatenate(rows), starts), (len(rows), FEATURES))
    often = np.asarray((matrix > 0).sum(0)).ravel() > 1

    def weights(labels: Sequence[int], penalty: str) -> np.ndarray[Any, Any]:
        model = LogisticRegression(C=INVERSE_PENALTY[penalty], max_iter=1000)
        model.fit(matrix, labels, [question.weight for question in questions])
        return np.c_[model.coef_ * often, model.intercept_]

    found = [weights([TYPES.index(question.type) for question in questions], "types")]
    found += [weights([one in question.challenges for question in questions], "challenges") for one in CHALLENGES]
    return np.concatenate(found).astype(np.float16)


def main(config: TypesConfig) -> None:
    """Writes the weights and prints accuracies and the confusion matrix."""
    questions = [*labelled("seen"), *labelled("domains"), *from_phrasings(config.seed)]
    np.savez_compressed(config.output, weights=fit(questions))
    if Path(config.output) != WEIGHTS:
        return
    rows, found = [], []
    for name in ("held_out", "held_out_domains"):
        asked = labelled(name)
        types = [query_type_of(question.text) or "unsure" for question in asked]
        right = sum(question.type == given for question, given in zip(asked, types, strict=True))
        challenges = sum(set(challenges_of(question.text)) == set(question.challenges) for question in asked)
        print(f"{name}: {right} of {len(asked)} types right, {challenges} challenges right")
        rows += asked
        found += types
    pairs = Counter((row.type, one) for row, one in zip(rows, found, strict=True))
    names = (*TYPES, "unsure")
    print("| labelled | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|")
    for name in names:
        print(f"| {name} | " + " | ".join(str(pairs[name, one] or "") for one in names) + " |")


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
