"""The stages of the recipe that ``acqo train`` runs, and their settings."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from acqo_rl.addresses import Address, whole_of
from acqo_rl.cli import command, parser_of
from acqo_rl.cli.fields import setting
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.training.settings import PromptSettings, RewardSettings, trainer_settings

Settings = dict[str, Any]
_FINISHED = {"warm_start": "model", "stage1": "model", "difficulty": "report.md", "stage2": "model"}
"""Stage -> file or folder that exists when the stage is finished."""


@dataclass
class RecipeConfig(RewardSettings, PromptSettings, IndexSettings):
    """Settings of the recipe."""

    data: str = setting("BEIR folder, or 'embedded' for the generated data set.", "embedded")
    output_dir: str = setting("Output folder of all stages.", "outputs/acqo")
    model: str = setting("Base model: Hub id, folder or embedded:smollm2.", "embedded:smollm2")
    encoder: str = setting("Dense encoder: Hub id, folder or embedded:minilm.", "embedded:minilm")
    index: Address | None = setting(
        "Index of the data to search, as in acqo search; by default the recipe builds one.", None
    )
    index_kind: Literal["dense", "bm25", "hybrid"] = setting(
        "Kind of the index; hybrid is dense and BM25 together.", "dense"
    )
    index_factory: str = setting("FAISS index: Flat, HNSW64, IVF256,Flat ...", "Flat")
    index_build_parameters: str = setting("FAISS build parameters, such as efConstruction=2000.", "")
    flat_evaluation: bool = setting(
        "Evaluate with an exact (Flat) index instead of the one for training, which may be approximate. "
        "The corpus is encoded a second time.",
        False,
    )
    stage1_hardest_fraction: float = setting(
        "Train Stage I only on this share of the training queries, the hardest ones for the warm-started policy.", 1.0
    )
    dev_split: str = setting("Dev queries, which choose the checkpoints: qrels/SPLIT.tsv.", "dev")
    test_split: str = setting("Split of the final evaluation.", "test")
    seed: int = setting("Seed of all stages.", 0)
    launcher: str = setting("Launcher of the training stages, such as 'accelerate launch'.", "")
    prompted_baseline: bool = setting("Also evaluate the prompted base model.", True)
    warm_start: dict = setting("Settings of acqo warm-start.", {})
    stage1: dict = setting("Settings of acqo grpo in Stage I.", {})
    difficulty: dict = setting("Settings of acqo difficulty.", {})
    stage2: dict = setting("Settings of acqo grpo in Stage II.", {})
    minutes: dict = setting(
        "Minutes that each stage took in an earlier run, by name of the stage. They serve only to estimate "
        "the remaining time.",
        {},
    )


@dataclass(frozen=True)
class Stage:
    """One command of the recipe."""

    name: str
    command: str
    settings: Settings
    launcher: Sequence[str] = ()

    def argv(self) -> list[str]:
        """The command as arguments of a subprocess."""
        return [
            *(self.launcher or [sys.executable]),
            "-m",
            "acqo_rl.cli",
            self.command,
            *map(whole_of, self.arguments()),
        ]

    def shown(self) -> str:
        """The command as a user would type it."""
        typed = [*self.launcher, "-m", "acqo_rl.cli"] if self.launcher else ["acqo"]
        return shlex.join([*typed, self.command, *self.arguments()])

    def arguments(self) -> list[str]:
        """The settings as command-line arguments; an empty list is the default of every list of the stages."""
        given = {key: value for key, value in self.settings.items() if value not in (None, [])}
        return [text for key, value in given.items() for text in (f"--{key}", *_words(value))]


def plan(config: RecipeConfig) -> list[Stage]:
    """Returns the stages with their settings.

    Raises:
        ConfigError: the settings of a stage are not a mapping.
    """
    out = Path(config.output_dir).resolve()
    embedded = config.data == "embedded"
    data = out / "data" if embedded else Path(config.data).resolve()
    index = config.index or out / "index"
    device = _pick(config, IndexSettings)
    paths = {"data": data, "index": index, "dev_split": config.dev_split, "seed": config.seed, **device}
    reward = _pick(config, RewardSettings)
    prompt = _pick(config, PromptSettings)
    shared = {**paths, **reward}
    warm, one, two = (out / name / "model" for name in ("warm_start", "stage1", "stage2"))
    launch = launcher_of(config)
    difficulty = {**paths, **reward, "model": one, **mapping_of(config, "difficulty")}
    build = {"data": data, "kind": config.index_kind, "encoder": config.encoder}
    exact = out / "flat_index" if config.flat_evaluation else index
    hardest: Settings = {}
    if config.stage1_hardest_fraction < 1:
        hardest = {
            "difficulty": out / "warm_start_difficulty" / "difficulty.jsonl",
            "hardest_fraction": config.stage1_hardest_fraction,
            "min_mean_reward": -1.0,
            "max_mean_reward": 10.0,
        }  # all rewards
    export = {"model": two, "repo_id": f"me/{out.name}", "run": out, "output": out / "policy", "dry_run": True}
    stages = [
        Stage("index", "index",
              {**build, "output": index, "factory": config.index_factory,
               "build_parameters": config.index_build_parameters or None}),
        Stage("warm start", "warm-start",
              {**shared, **prompt, "model": config.model, "output_dir": warm.parent,
               **mapping_of(config, "warm_start")},
              launch),
        Stage("Stage I: explore", "grpo",
              {**shared, "stage": "explore", "model": warm, "output_dir": one.parent, **hardest,
               **mapping_of(config, "stage1")}, launch),
        Stage("difficulty", "difficulty", {**difficulty, "output_dir": out / "difficulty"}),
        Stage("Stage II: converge", "grpo",
              {**shared, "stage": "converge", "model": one, "output_dir": two.parent,
               "difficulty": out / "difficulty" / "difficulty.jsonl", **mapping_of(config, "stage2")}, launch),
        Stage("export", "push", export),
        Stage("evaluation", "evaluate",
              {"data": data, "split": config.test_split, "index": exact, **device, "output": out / "evaluation",
               "reformulator": [
                   "raw", "rules", *([f"prompted={config.model}"] if config.prompted_baseline else []),
                   f"warm_start={warm}", f"stage1={one}", f"policy={out / 'policy'}"]}),
        Stage("model card", "push", {**export, "evaluation": out / "evaluation"}),
    ]  # fmt: skip
    if config.index:
        del stages[0]
    names = [stage.name for stage in stages]
    if config.flat_evaluation:
        flat = Stage("flat index", "index", {**build, "output": exact, "factory": "Flat"})
        stages.insert(names.index("evaluation"), flat)
    if hardest:
        settings = {**difficulty, "model": warm, "output_dir": out / "warm_start_difficulty"}
        scoring = Stage("difficulty for the warm start", "difficulty", settings)
        stages.insert(names.index("Stage I: explore"), scoring)
    if embedded:
        made = {"dataset": "embedded", "output": data, "seed": config.seed}
        stages.insert(0, Stage("data", "data", made))
    return stages


def launcher_of(config: RecipeConfig) -> list[str]:
    """The words of the launcher; paths in ``configs/`` that do not exist here are replaced by the shipped files."""
    words = shlex.split(config.launcher)
    shipped = command.configs_folder().parent
    return [str(shipped / word) if word.startswith("configs/") and not Path(word).exists() else word for word in words]


def check(stage: Stage) -> Any:
    """Parses the settings of a stage with the parser of its command.

    Raises:
        ConfigError: a setting is unknown or out of range; the message names the stage.
    """
    try:
        given = command.parse(parser_of(stage.command), stage.arguments())[0]
        if stage.command == "grpo":
            from acqo_rl.training.grpo import check_trainer

            check_trainer(trainer_settings(given))
        return given
    except ConfigError as error:
        raise ConfigError(f"The stage '{stage.name}' cannot run: {error}") from error


def unfinished(out: Path) -> list[str]:
    """The configurable stages after the last finished one."""
    done = {name for name, mark in _FINISHED.items() if (out / name / mark).exists()}
    names = list(_FINISHED)
    return names[max((names.index(name) + 1 for name in done), default=0) :]


def _words(value: Any) -> list[str]:
    """A value as command-line arguments."""
    if isinstance(value, list):
        return list(map(str, value))
    return [json.dumps(value) if isinstance(value, dict) else value if isinstance(value, Address) else str(value)]


def _pick(config: RecipeConfig, settings: type) -> Settings:
    values = asdict(config)
    return {f.name: values[f.name] for f in fields(settings)}


def mapping_of(config: RecipeConfig, name: str) -> Settings:
    """A setting that is a mapping.

    Raises:
        ConfigError: it is not a mapping.
    """
    value = getattr(config, name)
    if not isinstance(value, dict):
        raise ConfigError(f"{name} is {value!r}; it must be a mapping of settings, in YAML or JSON.")
    return value
