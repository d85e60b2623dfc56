"""TRL's SFT trainer, with logits only where there is something to learn."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import cross_entropy
from trl import SFTTrainer


class CompletionTrainer(SFTTrainer):
    """Computes logits at completion tokens alone; on a CPU, TRL's own loss computes them for the prompt too."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Mean negative log-likelihood of the completion tokens, over the whole optimizer step."""
        labels = inputs["labels"]
        positions = (labels[:, 1:] != -100).any(dim=0).nonzero().squeeze(1)
        outputs = model(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], logits_to_keep=positions
        )
        wanted = labels[:, positions + 1].flatten()
        total = cross_entropy(outputs.logits.float().flatten(0, 1), wanted, ignore_index=-100, reduction="sum")
        loss = total / (num_items_in_batch if num_items_in_batch is not None else (wanted != -100).sum())
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            loss = loss * self.accelerator.num_processes  # the tokens of all processes are counted, gradients averaged
        return (loss, outputs) if return_outputs else loss
