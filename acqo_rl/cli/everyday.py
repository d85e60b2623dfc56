r"""Count how many of a hundred everyday questions reformulators rewrite well.

    acqo everyday
    acqo everyday --reformulator raw rules policy=trained:demo policy_else_rules=trained:demo
    acqo everyday --reformulator rules --data BEIR_DIR

The questions were written by somebody who had not seen the rules: comparisons, lists, several questions at once,
ambiguous names, and some that only look as if they asked for several things. A question is right if its route fits and,
where it should be split or read in several ways, each part or reading is searched. Nothing is searched here, so that a
policy that reads the results of a first search answers without them.

A reformulator is NAME or NAME=MODEL, as in acqo compare. With --data the rules know the names of that corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acqo_rl.cli import command
from acqo_rl.reformulation.load import StrategySettings
from acqo_rl.searching.names import name_reformulators


@dataclass
class EverydayConfig:
    """Who rewrites the questions."""

    reformulator: list[str] = field(
        default_factory=lambda: ["raw", "rules"], metadata={"help": "NAME or NAME=MODEL, one or several."}
    )
    model: str | None = field(default=None, metadata={"help": "Model of those that are given without one."})
    data: str | None = field(default=None, metadata={"help": "BEIR folder; the rules know the names of its corpus."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(EverydayConfig, StrategySettings, description=__doc__)


def main(config: EverydayConfig, strategies: StrategySettings) -> None:
    """Print one row a kind of question."""
    from acqo_rl.data.beir import read_corpus
    from acqo_rl.evaluation.everyday import everyday_questions, everyday_table, well_rewritten
    from acqo_rl.evaluation.tables import aligned
    from acqo_rl.reformulation.load import lexicon_for, load_reformulator

    models = name_reformulators(config.reformulator, config.model)
    lexicon = lexicon_for(models, read_corpus(config.data).values()) if config.data else None
    questions = everyday_questions()
    found = {}
    for name, model in models.items():
        reformulator = load_reformulator(name, model, strategies, lexicon=lexicon)
        found[name] = well_rewritten(reformulator, questions)
    table = everyday_table(questions, found)
    print(f"{table.title}. {table.note}\n\n{aligned(table)}")
