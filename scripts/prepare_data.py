r"""Write a data set as a BEIR folder.

    python scripts/prepare_data.py --dataset embedded --output data/embedded

``embedded`` is generated from facts that packages on PyPI carry: about 8,400 passages on places, languages and
currencies, and 1,500 / 300 / 500 questions. The same seed gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from acqo_rl import command


@dataclass
class PrepareDataConfig:
    """Settings of a data set."""

    output: str = field(metadata={"help": "Folder to write; one that holds the same data set is left as it is."})
    dataset: Literal["embedded"] = field(default="embedded", metadata={"help": "Which data set."})
    seed: int = field(default=0, metadata={"help": "Of the questions and their wording."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(PrepareDataConfig, description=__doc__)


def main(config: PrepareDataConfig) -> None:
    """Writes the data set, unless it is there."""
    from acqo_rl.data.embedded import write_embedded

    folder = Path(config.output)
    write_embedded(folder, config.seed)
    print(f"{folder} holds the data set.")


if __name__ == "__main__":
    command.run(main, make_parser())
