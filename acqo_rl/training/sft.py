"""Supervised fine-tuning: the data set, and TRL's trainer with a faster loss."""

from collections.abc import Sequence
from typing import Any

import torch
from datasets import Dataset
from trl import SFTTrainer

from acqo_rl.language_models.decoding import keeps_every_token
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.training.prefix_tree import is_sharded, log_probs
from acqo_rl.types import Query


def sft_dataset(pairs: Sequence[tuple[Query, str]], prompt: Prompt, end: str = "") -> Dataset:
    """Creates the data set for SFT, with the columns ``prompt`` and ``completion`` (both conversations).

    Args:
        pairs: queries with their completions.
        prompt: prompt of the policy.
        end: appended to each completion; see :func:`acqo_rl.language_models.chat.missing_end`.
    """
    return Dataset.from_list(
        [
            {"prompt": prompt.render(query), "completion": [{"role": "assistant", "content": completion + end}]}
            for query, completion in pairs
        ]
    )


class CompletionTrainer(SFTTrainer):
    """Processes common prefixes once per batch, skips padding, and computes logits only for completion tokens.

    TRL's own loss does none of this on a CPU. It is still used for models that the prefix tree does not support, and
    with sharded weights.
    """

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """The mean negative log-likelihood of the completion tokens of the optimizer step."""
        plain = return_outputs or is_sharded(self)
        if plain or not keeps_every_token(self.accelerator.unwrap_model(model)):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        rows, starts = [], []
        for ids, mask, labels in zip(inputs["input_ids"], inputs["attention_mask"], inputs["labels"], strict=True):
            kept = mask.bool()
            rows.append(ids[kept].tolist())
            starts.append(int((labels[kept] != -100).nonzero()[0]))
        values = torch.cat(log_probs(model, rows, starts)[0])
        if num_items_in_batch is None:
            return -values.mean()
        loss = -values.sum() / num_items_in_batch
        if self.args.average_tokens_across_devices:
            # num_items_in_batch counts the tokens of all processes, but gradients are averaged over processes
            loss = loss * self.accelerator.num_processes
        return loss
