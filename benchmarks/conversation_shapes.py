r"""The same follow-up questions with their conversations in several shapes: prompts and search results.

    python benchmarks/conversation_shapes.py --data docs/example --split test --index outputs/example \
        --reformulator raw rules four_sets=trained:four_sets --output outputs/shapes
    python benchmarks/conversation_shapes.py --data BEIR_DIR --split dev --output outputs/shapes

Each shape gets a BEIR folder with the queries that have a conversation whose turns alternate, starting with the user.
The table has the number of queries whose prompt equals that of the first shape, and with --index the nDCG@10 of each
reformulator. If every shape is read correctly, all rows are equal.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.conversations import Turn
from acqo_rl.types import Query

MEASURE = "nDCG@10"


def _marked(user: str, assistant: str) -> Callable[[Turn], str]:
    return lambda turn: f"{user if turn.speaker == 'user' else assistant}: {turn.text}"


def _pairs(history: Sequence[Turn]) -> list[dict[str, str]]:
    questions, answers = history[::2], history[1::2]
    pairs = [{"question": q.text, "answer": a.text} for q, a in zip(questions, answers, strict=False)]
    return pairs + [{"question": q.text} for q in questions[len(answers) :]]


SHAPES: dict[str, Callable[[Sequence[Turn]], object]] = {
    '"U: ...", "S: ..."': lambda history: [*map(str, history)],
    "plain strings": lambda history: [turn.text for turn in history],
    '"User: ...", "Assistant: ..."': lambda history: [*map(_marked("User", "Assistant"), history)],
    '"Human: ...", "AI: ..."': lambda history: [*map(_marked("Human", "AI"), history)],
    "role and content": lambda history: [{"role": turn.speaker, "content": turn.text} for turn in history],
    "question and answer": _pairs,
    "one transcript": lambda history: "\n".join(map(_marked("User", "Assistant"), history)),
}


@dataclass
class BenchmarkConfig:
    """Settings of the benchmark."""

    data: str = field(metadata={"help": "BEIR folder."})
    split: str = field(metadata={"help": "Queries to use: those of qrels/SPLIT.tsv that have a conversation."})
    output: str = field(metadata={"help": "New folder for the BEIR folders and evaluations."})
    index: str | None = field(
        default=None, metadata={"help": "Index to search; without it, only prompts are compared."}
    )
    reformulator: list[str] = field(
        default_factory=lambda: ["raw", "rules"], metadata={"help": "Reformulators, as in acqo evaluate."}
    )
    tokenizer: str = field(default="embedded:smollm2", metadata={"help": "Model whose tokenizer limits the prompts."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(BenchmarkConfig, description=__doc__)


def main(config: BenchmarkConfig) -> None:
    """Prints a table with one row per shape."""
    from acqo_rl.data.beir import read_queries
    from acqo_rl.language_models.local import TransformersModel
    from acqo_rl.reformulation.prompt import Prompt

    tokenizer = TransformersModel.load_tokenizer(config.tokenizer)
    prompt = Prompt(lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"]))
    queries = [query for query in read_queries(config.data, config.split) if _alternates(query.history)]
    rows = []
    for number, (name, shape) in enumerate(SHAPES.items()):
        folder = Path(config.output, f"shape_{number}")
        _write(Path(config.data), folder / "data", queries, shape)
        read = read_queries(folder / "data", config.split)
        same = sum(prompt.render(one) == prompt.render(query) for one, query in zip(read, queries, strict=True))
        found = _evaluate(config, folder) if config.index else {}
        rows.append([name, f"{same} of {len(queries)}", *(f"{value:.3f}" for value in found.values())])
        header = ["history", "equal prompts", *(f"{MEASURE}: {system}" for system in found)]
    print("\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)))


def _alternates(history: Sequence[Turn]) -> bool:
    speakers = [turn.speaker for turn in history]
    return bool(speakers) and speakers == ["user", "assistant"] * (len(speakers) // 2) + ["user"] * (len(speakers) % 2)


def _write(data: Path, folder: Path, queries: Sequence[Query], shape: Callable[[Sequence[Turn]], object]) -> None:
    shutil.copytree(data, folder, ignore=shutil.ignore_patterns("queries.jsonl*"))
    rows = [{"_id": q.id, "text": q.text, "metadata": {"history": shape(q.history)}} for q in queries]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _evaluate(config: BenchmarkConfig, folder: Path) -> dict[str, float]:
    """Reformulator -> the first measure."""
    from acqo_rl.cli import evaluate

    arguments = ["--data", folder / "data", "--split", config.split, "--index", config.index]
    arguments += ["--reformulator", *config.reformulator, "--measures", MEASURE, "--output", folder / "evaluation"]
    evaluate.main(*evaluate.make_parser().parse_with_config([*map(str, arguments)]))
    summary = json.loads((folder / "evaluation" / "summary.json").read_text(encoding="utf-8"))
    return {system["name"]: system["overall"]["measures"][MEASURE] for system in summary["systems"]}


if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])
