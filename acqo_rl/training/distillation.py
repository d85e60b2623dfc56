"""Distillation: a copy of a policy with fewer layers learns to write what the policy writes.

Each layer costs the same time when the policy is served. First, the layers that the completions need least are removed.
Then the copy is trained on the policy's own completions, with the policy's distributions as targets, so that no
judgements are needed (Hinton et al. 2015, arXiv:1503.02531; for removed layers: Muralidharan et al. 2024,
arXiv:2407.14679).
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from torch.nn import ModuleList
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm
from transformers import Trainer, TrainingArguments, set_seed

from acqo_rl.language_models.layers import keep_layers, layers_of
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.model import fine_tune, new_adapter
from acqo_rl.training.run_folder import continue_rows
from acqo_rl.training.settings import DISTILLATION, trainer_arguments

_CALIBRATION, _CHUNK = 64, 512


@dataclass(frozen=True)
class Written:
    """A prompt and what the policy writes after it.

    Attributes:
        prompt: token ids.
        completion: token ids, with the end token unless the completion was cut off.
    """

    prompt: list[int]
    completion: list[int]


class Batch(NamedTuple):
    """Prompts with completions, padded on the left.

    Attributes:
        input_ids: int[rows, tokens].
        attention_mask: int[rows, tokens]; 0 for padding.
        position_ids: int[rows, tokens].
        judged: bool[rows, kept]; whether the token after each of the last ``kept`` tokens belongs to the completion.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    position_ids: torch.Tensor
    judged: torch.Tensor


def write_completions(model: TransformersModel, conversations: Sequence[Any], file: Path) -> list[Written]:
    """Lets the policy complete prompts; the completions in ``file`` are not written again.

    Args:
        model: the policy's model.
        conversations: prompts of the policy.
        file: one JSON object per completion; written after every 512 completions.
    """

    def rest(done: int) -> Iterator[list[Written]]:
        for start in tqdm(range(done, len(conversations), _CHUNK), desc="the policy's completions", unit="batch"):
            yield [Written(*ids) for ids in model.token_ids(conversations[start : start + _CHUNK])]

    return continue_rows(Written, file, len(conversations), rest)


def batch_of(rows: Sequence[Written], pad: int, device: Any = "cpu") -> Batch:
    """Pads prompts with completions on the left."""

    def padded(texts: Sequence[Sequence[int]], value: int) -> torch.Tensor:
        tensors = [torch.tensor(text) for text in texts]
        return pad_sequence(tensors, batch_first=True, padding_value=value, padding_side="left").to(device)

    texts = [row.prompt + row.completion for row in rows]
    mask = padded([[1] * len(text) for text in texts], 0)
    judged = padded([[1] * len(row.completion) + [0] for row in rows], 0)
    return Batch(padded(texts, pad), mask, (mask.cumsum(1) - 1).clamp(min=0), judged.bool())


def divergence(wanted: Any, found: Any, batch: Batch) -> torch.Tensor:
    """The Kullback-Leibler divergence of a student's from the policy's next-token distributions.

    Args:
        wanted: what the policy reads in the batch (:func:`read`).
        found: what the student reads in it.
        batch: the prompts with completions.

    Returns:
        Mean over the tokens of the completions, in nats.
    """
    targets = wanted.logits[batch.judged].float().log_softmax(-1)
    log_probs = found.logits[batch.judged].float().log_softmax(-1)
    return torch.nn.functional.kl_div(log_probs, targets, reduction="sum", log_target=True) / len(targets)


def state_distance(wanted: Any, found: Any, batch: Batch) -> torch.Tensor:
    """Squared distance of the last hidden states, relative to the squared length of the policy's; a mean over tokens.

    The arguments are those of :func:`divergence`.
    """
    seen = batch.attention_mask.bool()
    states, goals = found.hidden_states[-1][seen].float(), wanted.hidden_states[-1][seen].float()
    return ((states - goals).square().sum(-1) / goals.square().sum(-1)).mean()


def read(model: Any, batch: Batch) -> Any:
    """The logits after the last tokens, float[rows, kept, vocabulary], and the hidden states of all tokens."""
    return model(
        input_ids=batch.input_ids,
        attention_mask=batch.attention_mask,
        position_ids=batch.position_ids,
        logits_to_keep=batch.judged.shape[1],
        output_hidden_states=True,
        use_cache=False,
    )


@torch.no_grad()
def needed_layers(policy: Any, written: Sequence[Written], number: int, pad: int, seed: int = 0) -> list[int]:
    """Chooses the layers that stay: removes one layer after the other, always the one whose loss changes least.

    Args:
        policy: a causal language model; unchanged afterwards.
        written: completions of the policy; a sample of 64 is used.
        number: how many layers stay.
        pad: id of the padding token.
        seed: seed of the sample.

    Returns:
        Numbers of the layers, ascending.
    """
    sample = random.Random(seed).sample(list(written), min(_CALIBRATION, len(written)))
    batch = batch_of(sample, pad, policy.device)
    wanted = read(policy, batch)
    layers = layers_of(policy)

    def use(numbers: Sequence[int]) -> None:
        policy.get_decoder().layers = ModuleList([layers[layer] for layer in numbers])
        policy.config.get_text_config().num_hidden_layers = len(numbers)

    def loss_without(removed: int) -> float:
        use([layer for layer in kept if layer != removed])
        return divergence(wanted, read(policy, batch), batch).item()

    kept = list(range(len(layers)))
    try:
        for _ in tqdm(range(len(layers) - number), desc="choose layers", unit="layer"):
            kept.remove(min(kept, key=loss_without))
    finally:
        use(range(len(layers)))
    return kept


class DistillationTrainer(Trainer):
    """Trains a student on the distributions and the last hidden states of a policy."""

    def __init__(self, *, policy: Any, **options: Any) -> None:
        super().__init__(**options)
        self._policy = policy

    def compute_loss(self, model: Any, inputs: dict[str, torch.Tensor], *_: Any, **__: Any) -> torch.Tensor:
        """The sum of :func:`divergence` and :func:`state_distance`; the inputs are those of :class:`Batch`."""
        batch = Batch(**inputs)
        with torch.no_grad():
            wanted = read(self._policy, batch)
        found = read(model, batch)
        return divergence(wanted, found, batch) + state_distance(wanted, found, batch)


def distill(
    policy: TransformersModel,
    settings: PolicySettings,
    written: Sequence[Written],
    arguments: TrainingArguments,
    *,
    kept: Sequence[int],
    lora_rank: int,
) -> Path:
    """Trains a copy of a policy that has only some of its layers; resumes from the last checkpoint in its folder.

    Args:
        policy: the policy's model.
        settings: the policy's settings.
        written: completions of the policy.
        arguments: see :func:`distillation_arguments`.
        kept: numbers of the layers that stay.
        lora_rank: rank of the adapter, which is merged afterwards; 0 trains all weights.

    Returns:
        The folder of the model, a complete checkpoint; in bfloat16 if an adapter was merged.
    """
    set_seed(arguments.seed)
    tokenizer, student = policy.chat.tokenizer, copy.deepcopy(policy.model)
    keep_layers(student, kept)
    rows = [asdict(one) | {"length": len(one.prompt) + len(one.completion)} for one in written]
    trainer = DistillationTrainer(
        policy=policy.model.requires_grad_(False),
        model=new_adapter(student, lora_rank) if lora_rank else student.float().requires_grad_(True),
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda some: batch_of(
            [Written(row["prompt"], row["completion"]) for row in some], tokenizer.pad_token_id
        )._asdict(),
    )

    def merged(student: Any) -> Any:
        return student.merge_and_unload().to(torch.bfloat16)

    return fine_tune(trainer, tokenizer, settings, merged if lora_rank else None)


def distillation_arguments(given: Mapping[str, Any], output_dir: str | Path, seed: int) -> TrainingArguments:
    """Creates the configuration of the trainer.

    Raises:
        ConfigError: see :func:`~acqo_rl.training.settings.trainer_arguments`.
    """
    ours = {"output_dir": str(output_dir), "seed": seed, "remove_unused_columns": False}
    return trainer_arguments(TrainingArguments, {**DISTILLATION, **given}, **ours)
