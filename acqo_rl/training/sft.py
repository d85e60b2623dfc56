"""TRL's SFT trainer without the work that teaches nothing."""

from __future__ import annotations

from typing import Any

import torch
from trl import SFTTrainer

from acqo_rl.language_models.decoding import keeps_every_token
from acqo_rl.training.prefix_tree import log_probs


class CompletionTrainer(SFTTrainer):
    """Reads what the rows of a batch share once, and no padding; computes logits at completion tokens alone.

    TRL's own loss does neither on a CPU. It is used for other kinds of models, and with FSDP, where each process must
    make the same forward passes.
    """

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Mean negative log-likelihood of the completion tokens, over the whole optimizer step."""
        plain = return_outputs or self.is_fsdp_enabled
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
            loss = loss * self.accelerator.num_processes  # the tokens of all processes are counted, gradients averaged
        return loss
