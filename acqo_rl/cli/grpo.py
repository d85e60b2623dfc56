r"""Run one stage of GRPO: Stage I (explore) rewards the best subset of sub-queries, Stage II (converge) all of them.

    accelerate launch train/grpo.py --config configs/grpo/stage1.yaml --data BEIR_DIR --index INDEX_DIR \
        --model WARM_START/model --output_dir outputs/stage1
    acqo grpo --config configs/grpo/small.yaml --data outputs/demo/data --index outputs/demo/index \
        --model outputs/demo/warm_start/model --output_dir outputs/stage2 --trainer.max_steps 4

With --rollouts, the starting model is sampled first, and only queries of medium difficulty are trained on: those whose
mean reward (of Stage I) lies between --min_mean_reward and --max_mean_reward, and whose rollouts did not all find the
same. difficulty.jsonl in the output folder has the rewards of each query.

The output folder contains log.json (all metrics of all steps), figures/ (their curves) and model/ (the model with the
best dev measure).
The same command resumes an interrupted run from its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from acqo_rl.cli.groups import WithPrompt, WithReward
from acqo_rl.errors import ConfigError
from acqo_rl.measures import check_measures
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.settings import (
    GrpoSettings,
    PathSettings,
    policy_settings,
    trainer_settings,
)

if TYPE_CHECKING:
    from acqo_rl.reformulation.policy import PolicySettings
    from acqo_rl.training.curriculum import Difficulty
    from acqo_rl.training.materials import Materials
    from acqo_rl.types import Query

_SAMPLED_AT_ONCE = 64


@dataclass
class GrpoRunConfig(GrpoSettings, WithReward, WithPrompt, PathSettings):
    """Settings of a GRPO run."""

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: a setting is out of range, the measure is unknown, ``trainer`` is not a mapping, or a
                checkpoint would fall between two passes over one generated batch (such a run cannot be resumed).
        """
        super().__post_init__()
        check_measures([self.eval_measure], DEPTH)
        trainer = trainer_settings(self)
        eval_steps, iterations = trainer["eval_steps"], trainer.get("num_iterations", 1)
        if eval_steps % iterations:
            raise ConfigError(
                f"eval_steps is {eval_steps} and num_iterations is {iterations}; "
                f"eval_steps must be a multiple of num_iterations."
            )


def main(config: GrpoRunConfig) -> None:
    """Trains, or resumes training."""
    from pathlib import Path

    from accelerate import PartialState

    from acqo_rl.language_models.local import TransformersModel, default_device, load_tokenizer
    from acqo_rl.reformulation.policy import prompt_of
    from acqo_rl.training.callbacks import Alarms
    from acqo_rl.training.curves import write_curves
    from acqo_rl.training.data import grpo_dataset
    from acqo_rl.training.grpo import build_trainer, finish, grpo_config
    from acqo_rl.training.materials import open_materials
    from acqo_rl.training.model import changed_settings, load_trainable, precision
    from acqo_rl.training.run_folder import check_tracking, last_checkpoint, open_run

    trainer_args = trainer_settings(config)
    grpo_config(trainer_args, output_dir=config.output_dir, **precision())
    check_tracking(trainer_args["report_to"])
    load_tokenizer(config.model)  # refuses a model that cannot be prompted before any work is done
    folder = Path(config.output_dir)
    state = PartialState(cpu=default_device() == "cpu")
    with state.main_process_first():
        status = open_run(folder, asdict(config))
    if status == "finished":
        state.print(f"{folder} is finished: {folder / 'model'}")
        return
    settings = policy_settings(config.prompt, config.model)
    materials = open_materials(config, settings.feedback)
    with state.main_process_first():
        queries = within_band(config, materials, settings, trainer_args)
    state.print(f"{len(queries)} of {len(materials.train)} training queries are used.")
    model, tokenizer = load_trainable(config.model, config.lora_rank, config.seed)
    if changed := changed_settings(config.model, settings):
        state.print(f"The run changes settings of the policy that it starts from: {changed}.")
    prompt = prompt_of(settings, TransformersModel(model, tokenizer).count_tokens)
    reward = materials.reward(config.stage, config.reward, settings)
    trainer = build_trainer(
        config,
        model=model,
        tokenizer=tokenizer,
        policy=settings,
        reward=reward,
        train_dataset=grpo_dataset(queries, materials.qrels, prompt),
        dev_measures=partial(
            materials.dev_measures, limit=config.eval_limit, measure=config.eval_measure, reward=reward
        ),
        output_dir=folder,
        seed=config.seed,
        callbacks=[Alarms(config.alarm_patience, folder)],
    )
    trainer.resume(last_checkpoint(folder))
    state.print(finish(trainer, settings, config.model, config.eval_measure, folder))
    if state.is_main_process:
        write_curves(folder / "figures", [folder])


def groups_per_process(trainer: Mapping[str, Any]) -> int:
    """Groups per optimizer step and process."""
    completions = trainer["per_device_train_batch_size"] * trainer.get("gradient_accumulation_steps", 1)
    return int(completions // trainer["num_generations"])


def within_band(
    config: GrpoRunConfig, materials: Materials, settings: PolicySettings, trainer: Mapping[str, Any]
) -> Sequence[Query]:
    """Selects the hardest queries inside the difficulty band; all queries without rollouts.

    Raises:
        ConfigError: fewer queries remain than one batch needs.
    """
    from acqo_rl.training.curriculum import hardest_of, select_band

    queries = materials.train
    if config.rollouts:
        scored = difficulties(config, materials, settings, trainer)
        kept = select_band(scored, config.min_mean_reward, config.max_mean_reward)
        names = {difficulty.query_id for difficulty in hardest_of(kept, config.hardest_fraction)}
        queries = [query for query in queries if query.id in names]
    least = groups_per_process(trainer)
    if len(queries) < least:
        raise ConfigError(
            f"{len(queries)} training queries remain, but one batch needs {least} groups; "
            f"widen the band, use more queries, or make the batch smaller."
        )
    return queries


def difficulties(
    config: GrpoRunConfig, materials: Materials, settings: PolicySettings, trainer: Mapping[str, Any]
) -> list[Difficulty]:
    """The rewards of the starting model's rollouts; those of an earlier run are read, the others computed."""
    from pathlib import Path

    from transformers import set_seed

    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.training.curriculum import Difficulty, score_difficulty
    from acqo_rl.training.run_folder import continue_rows

    def rest(done: int) -> Iterator[list[Difficulty]]:
        set_seed(config.seed + done)
        sampling = {name: trainer[name] for name in ("temperature", "top_p")}
        policy = Policy.from_pretrained(config.model, batch_size=_SAMPLED_AT_ONCE, **sampling)
        reward = materials.reward("explore", config.reward, settings)
        return score_difficulty(materials.train[done:], materials.qrels, policy, reward, config.rollouts)

    return continue_rows(Difficulty, Path(config.output_dir, "difficulty.jsonl"), len(materials.train), rest)
