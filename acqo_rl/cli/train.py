r"""Run the whole recipe: data, index, warm start, Stage I, difficulty, Stage II, export, evaluation.

    acqo train --config configs/train/embedded.yaml
    acqo train --config configs/train/beir.yaml --data BEIR_DIR --output_dir outputs/mine
    acqo train --config configs/train/hotpotqa.yaml --data HOTPOTQA_DIR --output_dir outputs/hotpotqa
    acqo train --config configs/train/hotpotqa.yaml --plan True

--plan prints what the recipe needs (GPU memory, index, steps, tokens, hours), without running anything.
Every stage is one command, printed before it runs, with its own folder in --output_dir. The same command resumes an
interrupted recipe: finished stages are skipped, and an interrupted stage is resumed. The settings of the stages are in
``warm_start``, ``stage1``, ``difficulty`` and ``stage2`` in the YAML file. They are checked before the first stage
begins, and may be changed until their stage has written results. To repeat a stage with other settings, delete its
folder and the folders of later stages.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from acqo_rl.cli import command, parser_of
from acqo_rl.errors import AcqoError, ConfigError
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.training.settings import PromptSettings, RewardSettings, policy_settings, trainer_settings

Settings = dict[str, Any]
_FINISHED = {"warm_start": "model", "stage1": "model", "difficulty": "report.md", "stage2": "model"}
"""Stage -> file or folder that exists when the stage is finished."""


@dataclass
class RecipeConfig(RewardSettings, PromptSettings, IndexSettings):
    """Settings of the recipe."""

    data: str = field(default="embedded", metadata={"help": "BEIR folder, or 'embedded' for the generated data set."})
    output_dir: str = field(default="outputs/acqo", metadata={"help": "Output folder of all stages."})
    model: str = field(default="embedded:smollm2", metadata={"help": "Base model: Hub id, folder or embedded:smollm2."})
    encoder: str = field(
        default="embedded:minilm", metadata={"help": "Dense encoder: Hub id, folder or embedded:minilm."}
    )
    index: str | None = field(
        default=None,
        metadata={"help": "Index of the data to search, as in acqo search; by default the recipe builds one."},
    )
    index_kind: Literal["dense", "bm25", "hybrid"] = field(
        default="dense", metadata={"help": "Kind of the index; hybrid is dense and BM25 together."}
    )
    index_factory: str = field(default="Flat", metadata={"help": "FAISS index: Flat, HNSW64, IVF256,Flat ..."})
    index_build_parameters: str = field(
        default="", metadata={"help": "FAISS build parameters, such as efConstruction=2000."}
    )
    flat_evaluation: bool = field(
        default=False,
        metadata={
            "help": "Evaluate with an exact (Flat) index instead of the one for training, which may be approximate. "
            "The corpus is encoded a second time."
        },
    )
    stage1_hardest_fraction: float = field(
        default=1.0,
        metadata={
            "help": "Train Stage I only on this share of the training queries, the hardest ones for the warm-started "
            "policy."
        },
    )
    dev_split: str = field(
        default="dev", metadata={"help": "Dev queries, which choose the checkpoints: qrels/SPLIT.tsv."}
    )
    test_split: str = field(default="test", metadata={"help": "Split of the final evaluation."})
    seed: int = field(default=0, metadata={"help": "Seed of all stages."})
    launcher: str = field(
        default="", metadata={"help": "Launcher of the training stages, such as 'accelerate launch'."}
    )
    prompted_baseline: bool = field(default=True, metadata={"help": "Also evaluate the prompted base model."})
    warm_start: dict = field(default_factory=dict, metadata={"help": "Settings of acqo warm-start."})
    stage1: dict = field(default_factory=dict, metadata={"help": "Settings of acqo grpo in Stage I."})
    difficulty: dict = field(default_factory=dict, metadata={"help": "Settings of acqo difficulty."})
    stage2: dict = field(default_factory=dict, metadata={"help": "Settings of acqo grpo in Stage II."})
    plan: bool = field(default=False, metadata={"help": "Print memory, steps and hours without running anything."})
    passages: int = field(default=0, metadata={"help": "--plan without data: number of passages."})
    queries: int = field(default=0, metadata={"help": "--plan without data: number of training queries."})
    minutes: dict = field(
        default_factory=dict,
        metadata={
            "help": "Mapping of each stage to its minutes in an earlier run. It is used only to estimate the "
            "remaining time."
        },
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
        return [*(self.launcher or [sys.executable]), "-m", "acqo_rl.cli", self.command, *self.arguments()]

    def shown(self) -> str:
        """The command as a user would type it."""
        typed = [*self.launcher, "-m", "acqo_rl.cli"] if self.launcher else ["acqo"]
        return shlex.join([*typed, self.command, *self.arguments()])

    def arguments(self) -> list[str]:
        """The settings as command-line arguments; an empty list is the default of every list of the stages."""
        given = {key: value for key, value in self.settings.items() if value not in (None, [])}
        return [text for key, value in given.items() for text in (f"--{key}", *_words(value))]


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(RecipeConfig, description=__doc__)


def main(config: RecipeConfig) -> None:
    """Runs the stages in order."""
    from acqo_rl.training.run_folder import check_tracking, open_run

    if config.plan:
        show_plan(config)
        return
    stages = plan(config)
    for stage in stages:
        check(stage)
        check_tracking(stage.settings.get("trainer", stage.settings).get("report_to", "none"))
    open_run(config.output_dir, asdict(config), unfinished(Path(config.output_dir)))
    begin, measured = time.monotonic(), _mapping(config, "minutes")
    expected = [float(measured.get(stage.name, 0.0)) for stage in stages]
    for number, stage in enumerate(stages):
        minutes = (time.monotonic() - begin) / 60
        print(f"\n== {number + 1}/{len(stages)} {stage.name}  {_clock(minutes, expected, number)}", flush=True)
        print(f"   {stage.shown()}", flush=True)
        ended = subprocess.run(stage.argv()).returncode
        if ended == 130:
            raise KeyboardInterrupt
        if ended != 0:
            raise AcqoError(
                f"The stage '{stage.name}' failed with status {ended}; see its message above. "
                f"Earlier stages are kept; fix the cause and run the same command again."
            )
    print(f"\nAll stages finished after {(time.monotonic() - begin) / 60:.1f} minutes: {config.output_dir}")


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
    difficulty = {**paths, **reward, "model": one, **_mapping(config, "difficulty")}
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
              {**shared, **prompt, "model": config.model, "output_dir": warm.parent, **_mapping(config, "warm_start")},
              launch),
        Stage("Stage I: explore", "grpo",
              {**shared, "stage": "explore", "model": warm, "output_dir": one.parent, **hardest,
               **_mapping(config, "stage1")}, launch),
        Stage("difficulty", "difficulty", {**difficulty, "output_dir": out / "difficulty"}),
        Stage("Stage II: converge", "grpo",
              {**shared, "stage": "converge", "model": one, "output_dir": two.parent,
               "difficulty": out / "difficulty" / "difficulty.jsonl", **_mapping(config, "stage2")}, launch),
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


def show_plan(config: RecipeConfig) -> None:
    """Prints the memory and time that the GRPO stages need; see :mod:`acqo_rl.training.estimate` for the formulas.

    Raises:
        ConfigError: the data do not exist and their sizes are not given, or the size of the model is unknown.
    """
    from acqo_rl.training import estimate

    passages, queries = sizes_of(config)
    shape = estimate.shape_of(config.model)
    processes, sharding = processes_of(launcher_of(config))
    print(
        f"{config.model}: {shape.parameters / 1e9:.2f} billion parameters; "
        f"{processes} {'process' if processes == 1 else 'processes'} {sharding}".rstrip()
    )
    on_gpu = show_indexes(config, passages, processes)
    total = {card.name: 0.0 for card in (estimate.H100, estimate.H20)}
    policy = policy_settings(config, config.model)
    for stage in plan(config):
        if not stage.name.startswith("Stage"):
            continue
        given = check(stage)
        share = config.stage1_hardest_fraction if stage.name.startswith("Stage I:") else 1.0
        trainer = trainer_settings(given)
        per_process = trainer["per_device_train_batch_size"]
        per_step = per_process * trainer.get("gradient_accumulation_steps", 1) * processes
        wanted = estimate.Stage(
            queries=round(queries * share),
            epochs=trainer["num_train_epochs"],
            rollouts=trainer["num_generations"],
            per_process=per_process,
            per_step=per_step,
            steps=max(trainer.get("max_steps", -1), 0),
        )
        feedback = round(1.4 * policy.feedback_results * policy.feedback_words)
        longest = estimate.MEAN_PROMPT + policy.history_tokens + policy.query_tokens + feedback
        prompt = estimate.MEAN_PROMPT + policy.history_tokens / 2 + feedback
        checkpointing = trainer.get("gradient_checkpointing", True)
        memory = estimate.memory_of(
            shape, wanted, longest, policy.max_new_tokens, lora_rank=given.lora_rank, checkpointing=checkpointing,
            processes=processes, sharding=sharding,
        )  # fmt: skip
        print(f"\n{stage.name}")
        print(
            f"  {wanted.optimizer_steps:,} steps of {per_step} completions: {wanted.completions:,} completions,",
            end=" ",
        )
        print(f"{wanted.completions * estimate.MEAN_COMPLETION / 1e6:,.1f} million generated tokens")
        shares_card = trainer.get("use_vllm") and trainer.get("vllm_mode", "colocate") == "colocate"
        vllm = trainer.get("vllm_gpu_memory_utilization", 0.3) if shares_card else 0.0
        print(
            f"  GB per process: model, gradients, optimizer {memory.model:.1f}; activations {memory.activations:.1f}"
            + (f"; vLLM {vllm:.0%} of the card" if vllm else "")
        )
        completion = min(estimate.MEAN_COMPLETION, policy.max_new_tokens)
        for card, cards in ((estimate.H100, 1), (estimate.H20, 8)):
            copies = min(1, processes / cards) if config.index_device == "shards" else 1
            index = on_gpu * copies + (estimate.FAISS_RESERVES if on_gpu else 0)
            hours = estimate.hours_of(shape, wanted, prompt, completion, card, cards, checkpointing=checkpointing)
            total[card.name] += hours
            needed = replace(memory, index=index).on(card, vllm)
            fits = "" if needed <= card.gigabytes else f"; DOES NOT FIT: {needed:.0f} GB of {card.gigabytes:.0f}"
            print(f"  about {hours:.1f} hours on {cards} x {card.name}{fits}")
    print("\nBoth stages (with all queries in Stage II, although its band keeps fewer): about", end=" ")
    print(f"{total['H100']:.1f} hours on one H100, {total['H20']:.1f} on 8 x H20 ({8 * total['H20']:.0f} GPU-hours).")
    print(
        "Formulas: training takes 8 N operations per token (10 N with checkpointing) at 35 % of the peak; decoding"
        "\nreads 2 N bytes per step at 70 % of the bandwidth. Details: acqo_rl/training/estimate.py. For the paper's"
        f"\nrun on HotpotQA (12.1 GPU-hours on 8 x H20), the estimate is {estimate.gpu_hours_of_the_paper():.1f};"
        " expect errors up to a factor of 3."
    )


def show_indexes(config: RecipeConfig, passages: int, processes: int) -> float:
    """Prints the memory of the indexes that the recipe builds, and returns the GB of an index on the GPU.

    Each process loads its own copy of an index in main memory.

    Raises:
        ConfigError: the index cannot be on a GPU.
    """
    from acqo_rl.training import estimate

    on_gpu = 0.0
    if not config.index and config.index_kind != "bm25":
        shape = (passages, estimate.dimension_of(config.encoder), config.index_factory)
        named, size = f"dense index ({config.index_factory}) of {passages:,} passages", estimate.index_gigabytes(*shape)
        if config.index_device in ("gpu", "shards"):
            on_gpu = estimate.gpu_index_gigabytes(*shape, float16=config.index_float16)
            places = {"gpu": "on the GPU of each process", "shards": "divided over the GPUs, for each process"}
            print(f"{named}: {on_gpu:.1f} GB {places[config.index_device]}, and {estimate.FAISS_RESERVES} GB per GPU")
        else:
            print(f"{named}: {estimate.in_each_process(size, processes)}")
    if not config.index and config.index_kind != "dense":
        size = estimate.bm25_gigabytes(passages)
        print(f"BM25 index of {passages:,} passages: about {estimate.in_each_process(size, processes)}")
    return on_gpu


def sizes_of(config: RecipeConfig) -> tuple[int, int]:
    """The numbers of passages and training queries, from the data if they exist, otherwise from the settings."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.data.embedded import QUERIES, count_passages

    if config.data == "embedded" and not (config.passages or config.queries):
        return count_passages(config.seed), QUERIES["train"]
    if Path(config.data).is_dir():
        data = read_beir(config.data, "train")
        return len(data.corpus), len(data.queries["train"])
    if config.passages < 1 or config.queries < 1:
        raise ConfigError(
            f"{config.data} does not exist, passages is {config.passages} and queries is {config.queries}; to plan"
            " without the data, set both to at least 1."
        )
    return config.passages, config.queries


def launcher_of(config: RecipeConfig) -> list[str]:
    """The words of the launcher; paths in ``configs/`` that do not exist here are replaced by the shipped files."""
    words = shlex.split(config.launcher)
    shipped = command.configs_folder().parent
    return [str(shipped / word) if word.startswith("configs/") and not Path(word).exists() else word for word in words]


def processes_of(launcher: Sequence[str]) -> tuple[int, str]:
    """The number of processes and the sharding of a launcher, from its ``--num_processes`` and ``--config_file``."""
    import yaml

    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--config_file", type=Path)
    parser.add_argument("--num_processes", type=int)
    given = parser.parse_known_args(launcher)[0]
    settings = yaml.safe_load(given.config_file.read_text(encoding="utf-8")) if given.config_file else {}
    sharding = {"FSDP": "fsdp2", "DEEPSPEED": "zero2"}.get(str(settings.get("distributed_type")), "")
    return given.num_processes or settings.get("num_processes", 1), sharding


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
    return [json.dumps(value) if isinstance(value, dict) else str(value)]


def _pick(config: RecipeConfig, settings: type) -> Settings:
    values = asdict(config)
    return {f.name: values[f.name] for f in fields(settings)}


def _mapping(config: RecipeConfig, name: str) -> Settings:
    value = getattr(config, name)
    if not isinstance(value, dict):
        raise ConfigError(f"{name} is {value!r}; it must be a mapping of settings, in YAML or JSON.")
    return value


def _clock(minutes: float, expected: list[float], number: int) -> str:
    left = sum(expected[number:])
    if not left:
        return f"({minutes:.0f} min so far)"
    done = sum(expected[:number])
    pace = minutes / done if minutes > 1 and done > 1 else 1.0
    return f"({minutes:.0f} min so far, about {left * pace:.0f} min left)"
