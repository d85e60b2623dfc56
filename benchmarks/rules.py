"""How well the rules rewrite questions that were labelled by hand; nothing is searched.

    python benchmarks/rules.py
    python benchmarks/rules.py --strategy policy --model trained:demo

The rules were written with the questions in ``seen.jsonl``. Those in ``held_out.jsonl`` and ``everyday.jsonl`` were
labelled before the rules were run on them, and no rule may be changed to suit one of them.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.conversations import read_history
from acqo_rl.types import Query, Reformulation

QUESTIONS = Path(__file__).with_name("questions")


@dataclass
class RulesConfig:
    """Settings of this measurement."""

    strategy: str = field(default="rules", metadata={"help": "Reformulator whose routes and rewrites are judged."})
    model: str = field(default="", metadata={"help": "Its model, if it has one."})


def read(name: str) -> list[tuple[Query, dict[str, Any]]]:
    """The queries of a file and their labels."""
    lines = (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = enumerate(map(json.loads, lines))
    return [(Query(str(number), row["text"], read_history(row.get("history") or ())), row) for number, row in rows]


def is_right(answer: Reformulation, route: str, needs: Sequence[Sequence[str]]) -> bool:
    """Whether the route and the sub-queries are right.

    Each need of a compound question must have its own sub-query, which contains all of its words and no word that only
    another need has. At least two readings of an ambiguous question must be searched.
    """
    texts = [sub_query.text for sub_query in answer.sub_queries]
    if answer.route != route or route == "pass":
        return answer.route == route
    if route == "disambiguate":
        return sum(any(_holds(text, need) for text in texts) for need in needs) >= 2
    suits = [[_suits(text, need, needs) for text in texts] for need in needs]
    places = permutations(range(len(texts)), len(suits))
    return any(all(row[place] for row, place in zip(suits, chosen, strict=True)) for chosen in places)


def _suits(text: str, need: Sequence[str], needs: Iterable[Sequence[str]]) -> bool:
    foreign = {word for other in needs for word in other} - set(need)
    return _holds(text, need) and not any(_holds(text, [word]) for word in foreign)


def _holds(text: str, words: Iterable[str]) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I) for word in words)


def main(config: RulesConfig) -> None:
    """Prints accuracies and confusions of routes."""
    from acqo_rl.reformulation.load import load_reformulator

    reformulator = load_reformulator(config.strategy, config.model)
    for name in ("seen", "held_out"):
        queries = read(name)
        answers = reformulator.reformulate([query for query, _ in queries])
        pairs = [(label["route"], answer.route) for (_, label), answer in zip(queries, answers, strict=True)]
        right = sum(label == predicted for label, predicted in pairs)
        print(f"{name}: {right} of {len(pairs)} routes right ({right / len(pairs):.1%})")
        for (label, predicted), number in Counter(p for p in pairs if p[0] != p[1]).most_common():
            print(f"    {label} taken for {predicted}: {number}")
    queries = read("everyday")
    answers = reformulator.reformulate([query for query, _ in queries])
    rows = zip(queries, answers, strict=True)
    right = sum(is_right(answer, label["route"], label.get("needs", ())) for (_, label), answer in rows)
    print(f"everyday: {right} of {len(queries)} rewritten well")


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
