"""Checks the written questions of this folder: their form, their ids, and how many there are of each kind.

python benchmarks/corpora/check.py
python benchmarks/corpora/check.py fortunes gimp_help
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from acqo_rl.conversations import read_history
from acqo_rl.types import QueryType

HERE = Path(__file__).parent
KINDS = {"follow_up": 30, "topic_change": 25, "compound": 15, "ambiguous": 10, "simple": 20}
"""The kinds of questions, and how many a corpus has at least."""


class Question(BaseModel):
    """One line of ``questions/NAME.jsonl``; ``relevant`` has grades: 2 answers the question, 1 helps.

    ``rewrite`` has the queries that an expert would search instead; many lines have none.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    kind: Literal["follow_up", "topic_change", "compound", "ambiguous", "simple"]
    text: Annotated[str, Field(min_length=2)]
    history: list[str]
    relevant: Annotated[dict[str, Literal[1, 2]], Field(min_length=1)]
    query_type: QueryType
    difficulty: Literal["easy", "medium", "hard"]
    reader: str
    rewrite: Annotated[list[Annotated[str, Field(pattern=r"^\S.*\S$")]], Field(min_length=1, max_length=3)] = []

    @field_validator("history")
    @classmethod
    def _alternates(cls, history: list[str]) -> list[str]:
        speakers = [turn.speaker for turn in read_history(history)]
        if speakers != ["user", "assistant"] * (len(history) // 2):
            raise ValueError("turns must begin with U: and S: in turn, and end with S:")
        return history

    @model_validator(mode="after")
    def _has_history(self) -> Question:
        if (self.kind in ("follow_up", "topic_change")) != bool(self.history):
            raise ValueError("follow-ups and changes of topic have a history, other questions do not")
        if self.kind == "compound" and len(self.relevant) < 2:
            raise ValueError("a compound question needs two documents")
        if self.rewrite and self.kind in ("topic_change", "simple"):
            raise ValueError("changes of topic and simple questions are searched as they are, without a rewrite")
        return self


def faults_of(name: str, lines: list[str]) -> list[str]:
    """What is wrong with the questions of a corpus, one text for each fault."""
    faults, questions, seen = [], [], Counter[str]()
    for number, line in enumerate(lines, start=1):
        try:
            questions.append(Question.model_validate_json(line))
        except ValidationError as error:
            faults += [f"line {number}: {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    for question in questions:
        seen.update([question.id, json.dumps([question.text, question.history])])
        if not question.id.startswith(f"{name}-"):
            faults.append(f"{question.id}: an id begins with the name of the corpus")
    faults += [f"{one}: twice" for one, number in seen.items() if number > 1]
    kinds = Counter(question.kind for question in questions)
    faults += [f"{kinds[kind]} {kind}, at least {most} wanted" for kind, most in KINDS.items() if kinds[kind] < most]
    return faults


def main(names: list[str]) -> int:
    """Prints all faults and the number of questions; returns 1 if there are faults."""
    recipes: dict[str, Any] = yaml.safe_load((HERE / "recipe.yaml").read_text("utf-8"))
    files = sorted((HERE / "questions").glob("*.jsonl"))
    faults = [f"{file.name}: no such corpus in recipe.yaml" for file in files if file.stem not in recipes]
    total = 0
    for file in files:
        if not names or file.stem in names:
            lines = file.read_text("utf-8").splitlines()
            total += len(lines)
            faults += [f"{file.name}: {fault}" for fault in faults_of(file.stem, lines)]
    print("\n".join([*faults, f"{total:,} questions, {len(faults)} faults"]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
