"""Distillation: a copy of a policy with fewer layers learns to write what the policy writes.

Each layer costs the same time when the policy is served. First, the layers that the completions need least are removed.
Then the copy is trained on the policy's own completions, with the policy's distributions as targets, so that no
judgements are needed (Hinton et al. 2015, arXiv:1503.02531; for removed layers: Muralidharan et al. 2024,
arXiv:2407.14679).
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from torch.nn import ModuleList
from tqdm import tqdm
from transformers import Trainer, TrainingArguments, set_seed

from acqo_rl.files import write_atomic, writing
from acqo_rl.language_models.layers import keep_layers, layers_of
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.model import fine_tuning_arguments, save_policy
from acqo_rl.training.run_folder import last_checkpoint, prepare_tracking, write_json

_CALIBRATION, _CALIBRATION_BATCH = 64, 32
_CHUNK = 512


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
    written = read_completions(file) if file.exists() else []
    for start in tqdm(range(len(written), len(conversations), _CHUNK), desc="the policy's completions", unit="batch"):
        ids = model.token_ids(conversations[start : start + _CHUNK])
        written += [Written(prompt, completion) for prompt, completion in ids]
        write_atomic(file, (json.dumps(asdict(one)) for one in written))
    return written


def read_completions(file: Path) -> list[Written]:
    """Reads a file written by :func:`write_completions`."""
    return [Written(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def batch_of(rows: Sequence[Written], pad: int, device: Any = "cpu") -> Batch:
    """Pads prompts with completions on the left."""
    texts = [row.prompt + row.completion for row in rows]
    longest = max(map(len, texts))
    kept = max(len(row.completion) for row in rows) + 1
    ids = torch.full((len(rows), longest), pad)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    judged = torch.zeros(len(rows), kept, dtype=torch.bool)
    for i, (row, text) in enumerate(zip(rows, texts, strict=True)):
        ids[i, longest - len(text) :] = torch.tensor(text)
        mask[i, longest - len(text) :] = 1
        judged[i, kept - 1 - len(row.completion) : -1] = True
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    return Batch(ids.to(device), mask.to(device), positions.to(device), judged.to(device))


def divergence(wanted: Any, found: Any, batch: Batch, state_weight: float) -> torch.Tensor:
    """How far a student is from the policy; a scalar.

    It is the Kullback-Leibler divergence of the student's from the policy's next-token distributions, a mean over the
    tokens of the completions, plus ``state_weight`` times the squared distance of the last hidden states, relative to
    the squared length of the policy's states, a mean over all tokens.

    Args:
        wanted: what the policy reads in the batch (:func:`read`).
        found: what the student reads in it.
        batch: the prompts with completions.
        state_weight: weight of the hidden states.
    """
    targets = wanted.logits[batch.judged].float().log_softmax(-1)
    log_probs = found.logits[batch.judged].float().log_softmax(-1)
    loss = torch.nn.functional.kl_div(log_probs, targets, reduction="sum", log_target=True) / len(targets)
    if state_weight:
        seen = batch.attention_mask.bool()
        states, goals = found.hidden_states[-1][seen].float(), wanted.hidden_states[-1][seen].float()
        distance = (states - goals).square().sum(-1) / goals.square().sum(-1)
        loss = loss + state_weight * distance.mean()
    return loss


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
    sample.sort(key=lambda row: len(row.prompt) + len(row.completion))
    starts = range(0, len(sample), _CALIBRATION_BATCH)
    batches = [batch_of(sample[i : i + _CALIBRATION_BATCH], pad, policy.device) for i in starts]
    wanted = [read(policy, batch) for batch in batches]
    decoder, config, layers = policy.get_decoder(), policy.config.get_text_config(), layers_of(policy)
    rounds = range(len(layers), number, -1)
    progress = tqdm(total=sum(rounds), desc="choose layers", unit="trial")

    def loss_without(removed: int) -> float:
        decoder.layers = ModuleList([layers[layer] for layer in kept if layer != removed])
        config.num_hidden_layers = len(decoder.layers)
        loss = sum(
            divergence(goal, read(policy, batch), batch, 0.0).item()
            for goal, batch in zip(wanted, batches, strict=True)
        )
        progress.update()
        return loss

    kept = list(range(len(layers)))
    try:
        for _ in rounds:
            kept.remove(min(kept, key=loss_without))
    finally:
        progress.close()
        decoder.layers, config.num_hidden_layers = layers, len(layers)
    return kept


class DistillationTrainer(Trainer):
    """Trains a student on the distributions of a policy."""

    def __init__(self, *, policy: Any, state_weight: float, **options: Any) -> None:
        super().__init__(**options)
        self._policy = policy
        self._state_weight = state_weight

    def compute_loss(self, model: Any, inputs: dict[str, torch.Tensor], *_: Any, **__: Any) -> torch.Tensor:
        """See :func:`divergence`; the inputs are those of :class:`Batch`."""
        batch = Batch(**inputs)
        with torch.no_grad():
            wanted = read(self._policy, batch)
        return divergence(wanted, read(model, batch), batch, self._state_weight)


def distill(
    policy: TransformersModel,
    settings: PolicySettings,
    written: Sequence[Written],
    output_dir: str | Path,
    *,
    kept: Sequence[int],
    state_weight: float,
    lora_rank: int,
    learning_rate: float,
    epochs: float,
    batch_size: int,
    micro_batch_size: int,
    save_steps: int,
    seed: int,
    report_to: str = "none",
) -> Path:
    """Trains a copy of a policy that has only some of its layers; resumes from the last checkpoint in ``output_dir``.

    Args:
        policy: the policy's model.
        settings: the policy's settings.
        written: completions of the policy.
        output_dir: folder of the run.
        kept: numbers of the layers that stay.
        state_weight: see :func:`divergence`.
        lora_rank: rank of the adapter that is trained and then merged; 0 trains all weights.
        learning_rate: peak learning rate; it follows a cosine.
        epochs: passes over the completions.
        batch_size: completions per device and optimizer step.
        micro_batch_size: completions per forward pass.
        save_steps: steps between checkpoints.
        seed: seed of the order and of the adapter's weights.
        report_to: experiment tracker.

    Returns:
        The folder of the model, a complete checkpoint in bfloat16.
    """
    prepare_tracking(report_to, output_dir)
    set_seed(seed)
    arguments = TrainingArguments(
        **fine_tuning_arguments(
            output_dir,
            learning_rate=learning_rate,
            epochs=epochs,
            batch_size=batch_size,
            micro_batch_size=micro_batch_size,
            save_steps=save_steps,
            seed=seed,
            report_to=report_to,
        ),
        remove_unused_columns=False,
        train_sampling_strategy="group_by_length",
        length_column_name="length",
    )
    pad = policy.chat.tokenizer.pad_token_id
    trainer = DistillationTrainer(
        policy=policy.model.requires_grad_(False),
        state_weight=state_weight,
        model=_student(policy.model, kept, lora_rank),
        args=arguments,
        train_dataset=Dataset.from_list(
            [asdict(one) | {"length": len(one.prompt) + len(one.completion)} for one in written]
        ),
        data_collator=lambda rows: batch_of([Written(row["prompt"], row["completion"]) for row in rows], pad)._asdict(),
    )
    with writing(output_dir):
        trainer.train(resume_from_checkpoint=last_checkpoint(output_dir))
    weights = trainer.accelerator.get_state_dict(trainer.model)  # gathers the shards of all processes
    if trainer.accelerator.is_main_process:
        write_json(Path(output_dir, "log.json"), trainer.state.log_history)
        student = trainer.accelerator.unwrap_model(trainer.model)
        if lora_rank:
            student, weights = student.merge_and_unload(), None
        save_policy(student.to(torch.bfloat16), policy.chat.tokenizer, settings, output_dir, weights)
    trainer.accelerator.wait_for_everyone()
    return Path(output_dir, "model")


def _student(policy: Any, kept: Sequence[int], lora_rank: int) -> Any:
    """A copy with some of the layers; its trainable weights are in float32."""
    from peft import LoraConfig, get_peft_model

    student = copy.deepcopy(policy)
    keep_layers(student, kept)
    if not lora_rank:
        return student.float().requires_grad_(True)
    config = LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear", task_type="CAUSAL_LM")
    return get_peft_model(student, config)
