r"""Export a trained policy and push it to the Hugging Face Hub.

    acqo push --model runs/acqo/model --repo_id NAME/acqo-demo --dry_run --output exports/acqo-demo
    acqo push --model runs/acqo/model --repo_id NAME/acqo-demo --evaluation evaluations/embedded

A LoRA adapter is merged into its base model; --adapter exports the adapter alone.
The repository is private unless --public is given. --dry_run writes the folder and prints the model card; it needs
neither network nor token.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from acqo_rl.errors import ConfigError
from acqo_rl.hub import publish
from acqo_rl.hub.export import export_policy
from acqo_rl.language_models.embedded import resolve
from acqo_rl.settings import setting


@dataclass
class PushConfig:
    """Settings of an export."""

    model: str = setting("The model/ folder of a training run.")
    repo_id: str = setting("Repository on the Hub, also used in the model card: NAME/MODEL.")
    run: str | None = setting("Folder of the training run, for the card; by default the parent of MODEL.", None)
    evaluation: str | None = setting(
        "Output folder of acqo evaluate with results of MODEL or its export, for the card.", None
    )
    adapter: bool = setting("Export the LoRA adapter alone, without merging it.", False)
    public: bool = setting("Create a public repository.", False)
    output: str | None = setting("Folder in which to keep the export.", None)
    dry_run: bool = setting("Write to OUTPUT and print the card, without pushing.", False)


def main(config: PushConfig) -> None:
    """Exports, unless the folder contains the export already; then pushes."""
    publish.check_repo_id(config.repo_id)
    if config.dry_run and config.output is None:
        raise ConfigError("--dry_run requires an output folder; give --output DIR.")
    if not config.dry_run:
        publish.token()
    model = Path(resolve(config.model))
    merge = not config.adapter
    around = model.resolve().parent
    run = config.run or (around if (around / "config.json").is_file() else None)
    card = publish.model_card(model, config.repo_id, merged=merge, run=run, evaluation=config.evaluation)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(config.output or Path(temporary, "export"))
        is_new = export_policy(model, folder, merge=merge, card=card)
        already = f"{folder} already contains this export; its model card was written again."
        print(f"Exported {config.model} to {folder}." if is_new else already)
        if config.dry_run:
            print(card)
        else:
            print(f"Pushed to {publish.push(folder, config.repo_id, private=not config.public)}")
