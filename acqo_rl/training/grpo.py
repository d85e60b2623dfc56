"""GRPO with TRL's trainer: shared prompts, and dev measures of the search path."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from transformers import EarlyStoppingCallback
from trl import GRPOConfig, GRPOTrainer
from trl.models import unwrap_model_for_generation

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.chat import end_tokens
from acqo_rl.language_models.decoding import Decoding, Forbidden, complete, keeps_every_token
from acqo_rl.language_models.guided import GuidedDecoding, KnownWords
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.measures import gold_of
from acqo_rl.reformulation.policy import Policy, PolicySettings
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.training.model import load_trainable, save_run
from acqo_rl.training.prefix_tree import completion_log_probs, is_sharded
from acqo_rl.training.rewards import Reward
from acqo_rl.training.run_folder import last_checkpoint
from acqo_rl.training.settings import FULL_RATE, GRPO, LORA_RATE, GrpoSettings, trainer_arguments
from acqo_rl.types import Qrels, Query

DevMeasures = Callable[[Policy, Policy], tuple[dict[str, float], Sequence[float]]]
"""Greedy and sampling policy -> measures on dev, and the reward of each greedy completion."""
REWARDS = "eval_rewards"


class AcqoTrainer(GRPOTrainer):
    """TRL's trainer with changes.

    - The prompt of a group is processed only once, for log-probabilities and, on a CPU, for sampling.
    - Evaluation runs the search path on dev queries.
    """

    def __init__(
        self,
        *,
        dev_measures: DevMeasures,
        settings: PolicySettings,
        **trainer: Any,
    ) -> None:
        self._dev_measures = dev_measures
        self._policy_settings = settings
        self._shared_prefix = keeps_every_token(trainer["model"])
        super().__init__(**trainer)
        grammar = settings.grammar
        self._constraint: Forbidden | None = None
        self._known_words: KnownWords | None = None
        if GuidedDecoding.supports(self.processing_class):
            vocabulary = self.model.config.get_text_config().vocab_size
            self._constraint = GuidedDecoding(self.processing_class, self.eos_token_ids, grammar.regex, vocabulary)
            if grammar.words is not None:
                self._known_words = KnownWords(self.processing_class, self.eos_token_ids, grammar.known_words)
        self._shared_prefix = self._shared_prefix and not is_sharded(self)

    def _calculate_rewards(
        self, inputs: list[dict[str, Any]], prompts: list[Any], completions: list[Any], completion_ids_list: list[Any]
    ) -> torch.Tensor:
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        groups = rewards[:, 0].reshape(-1, self.num_generations)
        rewards[:, 0] = below_the_group(groups, self.reward_funcs[0].invalid_reward).flatten()
        return rewards

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], *others: Any, **more: Any
    ) -> tuple[list[list[int]], Any]:
        # On a GPU, this would save no memory and take more time.
        if self.use_vllm or not self._shared_prefix or self.accelerator.device.type != "cpu":
            return super()._generate_single_turn(prompt_ids, *others, **more)
        decoding = Decoding(
            ends=self.eos_token_ids,
            pad=self.processing_class.pad_token_id,
            max_new_tokens=self.max_completion_length,
            temperature=self.temperature,
            top_p=self.args.top_p,
            batch_size=len(prompt_ids),
            forbidden=self._constraint,
            known_words=self._known_words,
        )
        with (
            unwrap_model_for_generation(
                self.model_wrapped,
                self.accelerator,
                gather_deepspeed3_params=self.args.ds3_gather_for_generation,
                gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
            ) as model,
            self.accelerator.autocast(),
        ):
            return complete(model, prompt_ids, decoding), None

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **others: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        if not self._shared_prefix:
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy, **others
            )
        with self.accelerator.autocast():
            logps, entropies = completion_log_probs(model, input_ids, attention_mask, logits_to_keep, self.temperature)
        return logps, entropies if compute_entropy else None, None

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Evaluates the current policy on dev, greedily and as it samples; returns ``eval_MEASURE`` -> value.

        The gain is in greedy reward since the first evaluation; its error is that of the differences of the queries.
        """
        self.model.eval()
        given = self.accelerator.unwrap_model(self.model), self.processing_class, self._policy_settings
        with torch.no_grad():
            sampling = policy_of(*given, temperature=self.temperature, top_p=self.args.top_p, seed=self.args.seed)
            found = [self._dev_measures(policy_of(*given), sampling)]
        broadcast_object_list(found)  # they decide when training ends, so that they must not differ in a last digit
        measures, rewards = found[0]
        before = [entry[REWARDS] for entry in self.state.log_history if REWARDS in entry]
        gains = np.subtract(rewards, before[0] if before else rewards)
        measures |= {"gain": float(gains.mean()), "gain_error": float(gains.std() / len(gains) ** 0.5)}
        metrics = {f"eval_{name}": value for name, value in measures.items()}
        self.log(metrics)
        self.state.log_history[-1][REWARDS] = list(rewards)  # too many to print
        self.model.train()
        self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Also saves the settings of the policy, so that every checkpoint can be evaluated and served."""
        super()._save_checkpoint(model, trial)
        if self.args.should_save:
            self._policy_settings.save(Path(self.args.output_dir, f"checkpoint-{self.state.global_step}"))


def below_the_group(rewards: torch.Tensor, invalid_reward: float) -> torch.Tensor:
    """Sets the reward of an invalid completion to the lowest valid reward of its group plus ``invalid_reward``.

    With a fixed reward, one invalid completion beside rewards near 1.8 would outweigh all other differences of its
    group. A group without a valid completion keeps its rewards.

    Args:
        rewards: float[groups, completions]; NaN for a masked completion.
        invalid_reward: the reward that marks an invalid completion; below 0.

    Returns:
        float[groups, completions].
    """
    invalid = rewards == rewards.new_tensor(invalid_reward)
    lowest = rewards.masked_fill(invalid | rewards.isnan(), torch.inf).min(dim=1, keepdim=True).values
    return torch.where(invalid & lowest.isfinite(), lowest + invalid_reward, rewards)


def policy_of(model: Any, tokenizer: Any, settings: PolicySettings, **generation: Any) -> Policy:
    """Creates a policy from a model that is being trained."""
    options = {"max_new_tokens": settings.max_new_tokens, "regex": settings.grammar.regex, **generation}
    return Policy.of(TransformersModel(model, tokenizer, **options), settings)


def grpo_arguments(settings: GrpoSettings, policy: PolicySettings, **ours: Any) -> GRPOConfig:
    """Creates the configuration of TRL's trainer; ``ours`` are the folder, the rank of the adapter and the seed.

    Raises:
        ConfigError: see :func:`trainer_arguments`; or a checkpoint would fall between two passes over one generated
            batch, so that the run could not be resumed.
    """
    given = {**GRPO, "learning_rate": LORA_RATE if ours.pop("lora_rank") else FULL_RATE, **settings.trainer}
    arguments = trainer_arguments(
        GRPOConfig,
        {
            "per_device_eval_batch_size": given["num_generations"],
            "shuffle_dataset": settings.order == "random",
            **given,
        },
        max_completion_length=policy.max_new_tokens,
        mask_truncated_completions=False,
        eval_strategy="steps",
        eval_on_start=last_checkpoint(ours["output_dir"]) is None,
        restore_callback_states_from_checkpoint=True,
        save_strategy="steps",
        save_steps=given["eval_steps"],
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{settings.eval_measure}",
        greater_is_better=True,
        remove_unused_columns=False,
        **ours,
    )
    if arguments.eval_steps % arguments.num_iterations:
        raise ConfigError(
            f"eval_steps is {arguments.eval_steps:g} and num_iterations is {arguments.num_iterations}; "
            f"eval_steps must be a multiple of num_iterations."
        )
    return arguments


def grpo_dataset(queries: Sequence[Query], qrels: Qrels, prompt: Prompt) -> Dataset:
    """Creates the data set: ``prompt`` (conversation), and the columns of :class:`Reward`."""
    return Dataset.from_list(
        [
            {
                "prompt": prompt.render(query),
                "query": query.text,
                "asked": asdict(query),
                "gold": gold_of(qrels, query.id),
            }
            for query in queries
        ]
    )


def build_trainer(
    settings: GrpoSettings,
    arguments: GRPOConfig,
    *,
    model: Any,
    tokenizer: Any,
    policy: PolicySettings,
    reward: Reward,
    train_dataset: Dataset,
    dev_measures: DevMeasures,
) -> AcqoTrainer:
    """Creates the trainer of one stage; ``arguments`` are those of :func:`grpo_arguments`."""
    if arguments.use_vllm:
        arguments.vllm_structured_outputs_regex = policy.grammar.ascii_regex
        arguments.generation_kwargs = {"stop_token_ids": end_tokens(tokenizer, model.generation_config)}
    return AcqoTrainer(
        dev_measures=dev_measures,
        settings=policy,
        model=model,
        reward_funcs=[reward],
        args=arguments,
        processing_class=tokenizer,
        train_dataset=train_dataset,
        eval_dataset=train_dataset,
        callbacks=[EarlyStoppingCallback(settings.patience)],
    )


def finish(trainer: AcqoTrainer, policy: PolicySettings, start: str, lora_rank: int, measure: str) -> str:
    """Saves the best checkpoint, or the starting model if none is better on dev; see :func:`save_run`.

    Returns:
        A sentence that says which model was kept, and its dev measure.
    """
    first, *later = [entry[f"eval_{measure}"] for entry in trainer.state.log_history if f"eval_{measure}" in entry]
    improved = any(value > first for value in later)
    save_run(trainer, policy, None if improved else lambda: load_trainable(start, lora_rank, trainer.args.seed)[0])
    if improved:
        return f"{measure} on dev rose from {first:.4f} to {max(later):.4f}; the best checkpoint was kept."
    after = f"at most {max(later):.4f} afterwards" if later else "training stopped before the next evaluation"
    return f"{measure} on dev was {first:.4f} before training, and {after}; the starting model was kept."
