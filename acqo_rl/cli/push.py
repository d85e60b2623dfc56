r"""Export a trained policy and push it to the Hugging Face Hub.

    acqo push --model runs/acqo/model --repo_id NAME/acqo-demo --dry_run --output exports/acqo-demo
    acqo push --model runs/acqo/model --repo_id NAME/acqo-demo --evaluation evaluations/embedded

A LoRA adapter is merged into its base model; --adapter keeps it alone. The repository is private unless --public is
given. --dry_run writes the folder, prints the model card and needs no network and no token.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError


@dataclass
class PushConfig:
    """Settings of an export."""

    model: str = field(metadata={"help": "The model/ folder of a training run."})
    repo_id: str = field(metadata={"help": "Where to push to, and how the model card calls it: NAME/MODEL."})
    run: str | None = field(default=None, metadata={"help": "The run's folder, for the card; by default around MODEL."})
    evaluation: str | None = field(
        default=None,
        metadata={"help": "Folder of acqo evaluate that holds MODEL or its export, for the card."},
    )
    adapter: bool = field(default=False, metadata={"help": "Export the LoRA adapter alone, not merged."})
    public: bool = field(default=False, metadata={"help": "Make the repository public."})
    output: str | None = field(default=None, metadata={"help": "Keep the exported folder here."})
    dry_run: bool = field(default=False, metadata={"help": "Write to OUTPUT and print the card, push nothing."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(PushConfig, description=__doc__)


def main(config: PushConfig) -> None:
    """Export, then push."""
    from acqo_rl import hub

    hub.check_repo_id(config.repo_id)
    if config.dry_run:
        if config.output is None:
            raise ConfigError("--dry_run has nowhere to write to; give --output DIR.")
        print(export(config, Path(config.output)))
        return
    hub.token()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(config.output or Path(temporary, "export"))
        export(config, folder)
        print(f"Pushed to {hub.push(folder, config.repo_id, private=not config.public)}")


def export(config: PushConfig, folder: Path) -> str:
    """Writes the folder unless it is there already; the text of its card."""
    from acqo_rl.hub import export_policy, read_settings
    from acqo_rl.model_card import model_card

    model = Path(config.model)
    read_settings(model)
    around = model.resolve().parent
    run = config.run or (around if (around / "config.json").is_file() else None)
    card = model_card(model, config.repo_id, merged=not config.adapter, run=run, evaluation=config.evaluation)
    if export_policy(model, folder, merge=not config.adapter, card=card):
        print(f"Exported {model} to {folder}.")
    else:
        print(f"{folder} holds this export already; only its model card is renewed, unless it was edited.")
    return (folder / "README.md").read_text(encoding="utf-8")
