r"""Run one stage of GRPO: Stage I (explore) rewards the best subset of sub-queries, Stage II (converge) all of them.

    accelerate launch train/grpo.py --config configs/grpo/stage1.yaml --data BEIR_DIR --index INDEX_DIR \
        --model WARM_START/model --output_dir outputs/stage1
    acqo grpo --config configs/grpo/small.yaml --data outputs/demo/data --index outputs/demo/index \
        --model trained:demo --output_dir outputs/stage2 --trainer.max_steps 4

With --rollouts, the starting model is sampled first, and only queries of medium difficulty are trained on: those whose
mean reward (of Stage I) lies between --min_mean_reward and --max_mean_reward, and whose rollouts did not all find the
same. difficulty.jsonl in the output folder has the rewards of each query.

The output folder contains log.json (all metrics of all steps) and model/ (the model with the best dev measure).
The same command resumes an interrupted run from its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.local import TransformersModel, load_tokenizer
from acqo_rl.measures import check_measures
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.curriculum import Difficulty, by_gap, hardest_of, score_difficulty, select_band
from acqo_rl.training.materials import Materials, start_run
from acqo_rl.training.run_folder import continue_rows
from acqo_rl.training.settings import GrpoSettings, PathSettings, WithPolicy, policy_settings, rows_per_step
from acqo_rl.types import Query

if TYPE_CHECKING:
    from trl import GRPOConfig


_SAMPLED_AT_ONCE = 64


@dataclass
class GrpoRunConfig(GrpoSettings, WithPolicy, PathSettings):
    """Settings of a GRPO run."""

    def __post_init__(self) -> None:
        """Checks the measure.

        Raises:
            ConfigError: the measure is unknown.
        """
        check_measures([self.eval_measure], DEPTH)


def main(config: GrpoRunConfig) -> None:
    """Trains, or resumes training."""
    from acqo_rl.training.grpo import build_trainer, finish, grpo_dataset
    from acqo_rl.training.model import load_trainable, resume

    settings, arguments = check(config)
    load_tokenizer(config.model)  # refuses a model that cannot be prompted before any work is done
    state, materials = start_run(config, settings.feedback)
    if materials is None:
        return
    with state.main_process_first():
        queries = within_band(config, materials, settings, arguments)
    state.print(f"{len(queries)} of {len(materials.train)} training queries are used.")
    model, tokenizer = load_trainable(config.model, config.lora_rank, config.seed)
    prompt = prompt_of(settings, TransformersModel(model, tokenizer).chat.count_tokens)
    reward = materials.reward(config.stage, config.reward, settings)
    trainer = build_trainer(
        config,
        arguments,
        model=model,
        tokenizer=tokenizer,
        policy=settings,
        reward=reward,
        train_dataset=grpo_dataset(queries, materials.qrels, prompt),
        dev_measures=partial(
            materials.dev_measures, limit=config.eval_limit, measure=config.eval_measure, reward=reward
        ),
    )
    resume(trainer)
    state.print(finish(trainer, settings, config.model, config.lora_rank, config.eval_measure))
    state.destroy_process_group()  # otherwise a process that ends first may abort the others


def check(config: GrpoRunConfig) -> tuple[PolicySettings, GRPOConfig]:
    """Returns the settings of the policy and of TRL's trainer.

    Raises:
        ConfigError: a setting of the trainer is unknown or invalid, or a package that it needs is not installed.
    """
    from acqo_rl.training.grpo import grpo_arguments

    settings = policy_settings(config.prompt, config.model)
    return settings, grpo_arguments(
        config, settings, lora_rank=config.lora_rank, output_dir=config.output_dir, seed=config.seed
    )


def within_band(
    config: GrpoRunConfig, materials: Materials, settings: PolicySettings, arguments: GRPOConfig
) -> Sequence[Query]:
    """Selects the hardest queries inside the difficulty band; all queries without rollouts.

    Raises:
        ConfigError: fewer queries remain than one batch needs.
    """
    queries = materials.train
    if config.rollouts:
        scored = difficulties(config, materials, settings, arguments)
        kept = select_band(scored, config.min_mean_reward, config.max_mean_reward)
        query_of = {query.id: query for query in queries}
        queries = [query_of[one.query_id] for one in by_gap(hardest_of(kept, config.hardest_fraction))]
    least = rows_per_step(arguments) // arguments.num_generations
    if len(queries) < least:
        raise ConfigError(
            f"{len(queries)} training queries remain, but one batch needs {least} groups; "
            f"widen the band, use more queries, or make the batch smaller."
        )
    return queries


def difficulties(
    config: GrpoRunConfig, materials: Materials, settings: PolicySettings, arguments: GRPOConfig
) -> list[Difficulty]:
    """The rewards of the starting model's rollouts; those of an earlier run are read, the others computed."""
    from transformers import set_seed

    def rest(done: int) -> Iterator[list[Difficulty]]:
        set_seed(config.seed + done)
        policy = Policy.from_pretrained(
            config.model, batch_size=_SAMPLED_AT_ONCE, temperature=arguments.temperature, top_p=arguments.top_p
        )
        reward = materials.reward("explore", config.reward, settings)
        return score_difficulty(materials.train[done:], materials.qrels, policy, reward, config.rollouts)

    return continue_rows(Difficulty, Path(config.output_dir, "difficulty.jsonl"), len(materials.train), rest)
