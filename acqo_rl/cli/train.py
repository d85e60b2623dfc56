r"""Run the whole recipe: data, index, warm start, Stage I, Stage II, hops, export, evaluation.

    acqo train --config configs/train/embedded.yaml
    acqo train --config configs/train/demo.yaml --data BEIR_DIR --test_split test --hop.split train \
        --output_dir outputs/adapted
    acqo train --config configs/train/beir.yaml --data BEIR_DIR --output_dir outputs/mine
    acqo train --config configs/train/hotpotqa.yaml --data HOTPOTQA_DIR --output_dir outputs/hotpotqa

Every step is one command, printed before it runs, with its own folder in --output_dir. The same command resumes an
interrupted recipe: finished steps are skipped, and an interrupted step is resumed. Ctrl-C and SIGTERM end the step,
and then the recipe. The settings of the steps are in ``index_settings``, ``warm_start``, ``stage1``, ``stage2`` and
``hop`` in the YAML file. They are checked before the first step begins, and may be changed until their step has written
results. To repeat a step with other settings, delete its folder and the folders of later steps.
"""

import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from acqo_rl.addresses import Address, whole_of
from acqo_rl.cli import command, module_of
from acqo_rl.cli.programs import run_program
from acqo_rl.cli.train_scorer import TrainScorerConfig
from acqo_rl.cli.warm_start import WarmStartConfig
from acqo_rl.data.beir import read_queries, read_splits
from acqo_rl.data.importer import write_embedded
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.report import results_in
from acqo_rl.evaluation.significance import paired_bootstrap
from acqo_rl.evaluation.tables import interval
from acqo_rl.files import read_json
from acqo_rl.reformulation.grammar import TAGS
from acqo_rl.reformulation.policy import Policy
from acqo_rl.retrieval.faiss_devices import check_device
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.settings import check_used, setting
from acqo_rl.training.run_folder import open_run
from acqo_rl.training.settings import PathSettings, WithPolicy, rows_per_step
from acqo_rl.training.warm_start import Example, train
from acqo_rl.types import Seed

Settings = dict[str, Any]
AUTO = "auto_without_model", "auto"
"""Names of ``auto`` in the evaluation: as it is shipped, and with the policy."""
_TRAINED = ("warm_start", "stage1", "stage2", "hop")
"""Steps whose folders have a model when they are finished."""


@dataclass
class RecipeConfig(WithPolicy, IndexSettings):
    """Settings of the recipe."""

    data: str = setting("BEIR folder, or 'embedded' for the generated data set.", "embedded")
    output_dir: str = setting("Output folder of all steps.", "outputs/acqo")
    model: str = setting("Base model: Hub id, folder or embedded:smollm2.", "embedded:smollm2")
    index: Address | None = setting("Index of the data to search; by default the recipe builds one.", None)
    index_settings: dict = setting("Settings of acqo index, such as kind, encoder and faiss.", {})
    dev_split: str = setting("Dev queries, which choose the checkpoints: qrels/SPLIT.tsv.", "dev")
    test_split: str = setting("Split of the final evaluation.", "test")
    seed: Seed = setting("Seed of all steps.", 0)
    launcher: str = setting("Launcher of the trainings, such as 'accelerate launch'.", "")
    prompted_baseline: bool = setting("Also evaluate the prompted base model.", True)
    warm_start: dict = setting(
        "Settings of acqo warm-start; empty means no warm start, so --model must be a trained policy.", {}
    )
    stage1: dict = setting("Settings of acqo grpo in Stage I.", {})
    stage2: dict = setting("Settings of acqo grpo in Stage II.", {})
    hop: dict = setting(
        "Settings of acqo train-scorer for hops after the policy, such as split, limit and steps; empty means no hops.",
        {},
    )
    plan: bool = setting("Print the steps and about how long they take, by a measurement; run none.", False)


@dataclass(frozen=True)
class Step:
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
        """The settings as command-line arguments; an empty list is the default of every list of the steps."""
        given = {key: value for key, value in self.settings.items() if value not in (None, [], {})}
        return [text for key, value in given.items() for text in (f"--{key}", *_words(value))]


def main(config: RecipeConfig) -> None:
    """Runs the steps in order."""
    steps = plan(config)
    check_splits(config)
    for step in steps:
        given = check(step)
        if step.command == "index" and given.kind != "bm25":
            check_device(config.index_device)
    if config.plan:
        print("\n".join([*(step.shown() for step in steps), "", *times(steps)]))
        return
    out = Path(config.output_dir)
    kept = {name: value for name, value in asdict(config).items() if name != "plan"}
    open_run(out, kept, free_to_change=unfinished(out))
    begin = time.monotonic()
    for number, step in enumerate(steps, start=1):
        minutes = (time.monotonic() - begin) / 60
        print(f"\n== {number}/{len(steps)} {step.name}  ({minutes:.0f} min so far)", flush=True)
        print(f"   {step.shown()}", flush=True)
        run_program(f"The step '{step.name}'", step.argv())
    print(f"\n{verdict(out / 'evaluation')}")
    print(f"All steps finished after {(time.monotonic() - begin) / 60:.1f} minutes: {config.output_dir}")


def verdict(evaluation: Path) -> str:
    """Whether the policy brings anything to ``auto``, which needs none, on the questions of the evaluation."""
    results = results_in(evaluation)
    shipped, own = (np.array([next(iter(row["measures"].values())) for row in results[name]]) for name in AUTO)
    gain = paired_bootstrap(own - shipped)
    advice = "" if gain.low > 0 else " A gain is not shown, so search without --model."
    return (
        f"On {gain.queries} test questions, auto without a model has {shipped.mean():.3f}, and with this policy "
        f"{own.mean():.3f}: {interval(gain, starred=False)}.{advice}"
    )


def check_splits(config: RecipeConfig) -> None:
    """Checks that a folder has the splits of all steps.

    Raises:
        ConfigError: one is missing.
    """
    if config.data == "embedded":
        return
    there = read_splits(config.data)
    steps = (config.warm_start, config.stage1, config.stage2, config.hop)
    wanted = [*(step.get("split", "train") for step in steps), config.dev_split, config.test_split]
    if missing := sorted(set(wanted) - set(there)):
        raise ConfigError(
            f"{config.data} has no split {missing[0]!r}; it has {', '.join(there) or 'none'}. Give the names of its "
            "splits, such as --test_split dev."
        )


def times(steps: Sequence[Step]) -> Iterator[str]:
    """About how long each training takes, from two training steps and 32 completions measured here."""
    trainings = [(step, check(step)) for step in steps if step.command in ("warm-start", "grpo")]
    warm = trainings[0][1]
    if not isinstance(warm, WarmStartConfig):
        warm = WarmStartConfig(**{f.name: getattr(warm, f.name) for f in fields(PathSettings)})
    with TemporaryDirectory() as folder:
        if steps[0].command == "data":
            write_embedded(folder)
        queries = read_queries(folder if steps[0].command == "data" else warm.data, warm.split)
        two_steps = {**warm.trainer, "max_steps": 2, "report_to": "none"}
        measured = replace(warm, trainer=two_steps, output_dir=f"{folder}/run")
        settings, given = module_of("warm-start").check(measured)
        examples = [Example(q.id, "disambiguate", f"{TAGS['disambiguate']}\n{q.text}", 0.0, 0.0) for q in queries[:32]]
        model = train(queries, examples, settings, given, model=warm.model, lora_rank=warm.lora_rank)
        trained = read_json(model.with_name("log.json"))[-1]["train_samples_per_second"]
        policy = Policy.from_pretrained(str(model), batch_size=32)
        begin = time.monotonic()
        written = len(policy.reformulate(queries[:32])) / (time.monotonic() - begin)
    for step, one in trainings:
        _, given = module_of(step.command).check(one)
        asked = min(one.limit or len(queries), len(queries))
        per_epoch = min(one.examples, asked) if step.command == "warm-start" else asked * given.num_generations
        rows = given.max_steps * rows_per_step(given) if given.max_steps > 0 else given.num_train_epochs * per_epoch
        completions = 0.0
        if step.command == "grpo":
            evaluated = 2 * one.eval_limit * (1 + rows // rows_per_step(given) // given.eval_steps)
            completions = rows + asked * one.rollouts + evaluated
        minutes = (rows / trained + completions / written) / 60
        yield f"{step.name}: about {minutes:.1f} min ({rows:,.0f} rows, {completions:,.0f} completions)"
    yield (
        f"Measured here with {warm.model}: {trained:.2f} rows of a training step and {written:.2f} completions per "
        "second. Searches, the index and the evaluation are not counted."
    )


def plan(config: RecipeConfig) -> list[Step]:
    """Returns the steps with their settings."""
    out = Path(config.output_dir).resolve()
    embedded = config.data == "embedded"
    data = out / "data" if embedded else Path(config.data).resolve()
    index = config.index or out / "index"
    searched = {"data": data, "index": index, **{f.name: getattr(config, f.name) for f in fields(IndexSettings)}}
    shared = {**searched, "dev_split": config.dev_split, "seed": config.seed, "reward": asdict(config.reward)}
    warm, one, two, hop = (out / name / "model" for name in _TRAINED)
    warm_start = {**shared, "prompt": asdict(config.prompt), "model": config.model, "output_dir": warm.parent}
    explore = {**shared, "stage": "explore", "model": config.model, "output_dir": one.parent}
    start = f"before={config.model}"
    if config.warm_start:
        explore["model"] = warm
        start = f"warm_start={warm}"
    converge = {**shared, "stage": "converge", "model": one, "output_dir": two.parent}
    after = {**searched, "task": "hop", "reformulator": "policy", "model": two, "output_dir": hop.parent}
    hops = command.merged({**after, "hops": TrainScorerConfig.hops, "seed": config.seed}, config.hop)
    launch = launcher_of(config)
    export = {"model": two, "repo_id": f"me/{out.name}", "run": out, "output": out / "policy", "dry_run": True}
    prompted = [f"prompted={config.model}"] if config.prompted_baseline else []
    policy = f"policy={out / 'policy'}"
    autos = [f"{AUTO[0]}=auto", f"{AUTO[1]}={out / 'policy'}"]
    systems = ["raw", "rules", *prompted, start, f"stage1={one}", policy, *autos]
    evaluation = {**searched, "split": config.test_split}
    with_hops = {"reformulator": ["raw", "rules", policy], "hops": hops["hops"], "hop": hop}
    steps = [
        Step("data", "data", {"dataset": "embedded_bridge", "output": data, "seed": config.seed}) if embedded else None,
        Step("index", "index", {"data": data, **config.index_settings, "output": index}) if not config.index else None,
        Step("warm start", "warm-start", command.merged(warm_start, config.warm_start), launch)
        if config.warm_start
        else None,
        Step("Stage I: explore", "grpo", command.merged(explore, config.stage1), launch),
        Step("Stage II: converge", "grpo", command.merged(converge, config.stage2), launch),
        Step("hops", "train-scorer", hops) if config.hop else None,
        Step("export", "push", export),
        Step("evaluation", "evaluate", {**evaluation, "reformulator": systems, "output": out / "evaluation"}),
        Step("evaluation of hops", "evaluate", {**evaluation, **with_hops, "output": out / "evaluation_hops"})
        if config.hop
        else None,
        Step("model card", "push", {**export, "evaluation": out / "evaluation"}),
    ]
    return [step for step in steps if step]


def launcher_of(config: RecipeConfig) -> list[str]:
    """The words of the launcher; paths in ``configs/`` that do not exist here are replaced by the shipped files."""
    words = shlex.split(config.launcher)
    shipped = command.configs_folder().parent
    return [str(shipped / word) if word.startswith("configs/") and not Path(word).exists() else word for word in words]


def check(step: Step) -> Any:
    """Parses the settings of a step with the parser of its command.

    Raises:
        ConfigError: a setting is unknown or out of range; the message names the step.
    """
    try:
        script = module_of(step.command)
        given = command.parse(script.main, step.arguments())
        check_used(given)
        if step.command in ("warm-start", "grpo"):
            script.check(given)
        return given
    except ConfigError as error:
        raise ConfigError(f"The step '{step.name}' cannot run: {error}") from error


def unfinished(out: Path) -> list[str]:
    """The configurable steps after the last finished one."""
    done = [number for number, name in enumerate(_TRAINED, start=1) if (out / name / "model").exists()]
    return list(_TRAINED[max(done, default=0) :])


def _words(value: Any) -> list[str]:
    """A value as command-line arguments."""
    if isinstance(value, list):
        return list(map(str, value))
    if isinstance(value, dict):
        return [json.dumps(value)]
    return [value if isinstance(value, Address) else str(value)]
