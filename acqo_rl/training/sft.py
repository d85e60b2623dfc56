"""TRL's SFT trainer without the work that teaches nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import cross_entropy
from trl import SFTTrainer


class CompletionTrainer(SFTTrainer):
    """Reads the beginning that all prompts of a batch share once, and computes logits at completion tokens alone.

    TRL's own loss reads it once a row, and on a CPU it computes logits for the prompt too.
    """

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Mean negative log-likelihood of the completion tokens, over the whole optimizer step."""
        ids, mask, labels = inputs["input_ids"], inputs["attention_mask"], inputs["labels"]
        positions = (labels[:, 1:] != -100).any(dim=0).nonzero().squeeze(1)
        shared = _shared_length(ids, mask, int(positions[0]))
        cache = None
        if shared:
            beginning = model(input_ids=ids[:1, :shared], use_cache=True, logits_to_keep=1)
            cache = beginning.past_key_values
            cache.batch_repeat_interleave(len(ids))
        outputs = model(
            input_ids=ids[:, shared:],
            attention_mask=mask,
            past_key_values=cache,
            use_cache=cache is not None,
            logits_to_keep=positions - shared,
        )
        wanted = labels[:, positions + 1].flatten()
        total = cross_entropy(outputs.logits.float().flatten(0, 1), wanted, ignore_index=-100, reduction="sum")
        loss = total / (num_items_in_batch if num_items_in_batch is not None else (wanted != -100).sum())
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            loss = loss * self.accelerator.num_processes  # the tokens of all processes are counted, gradients averaged
        return (loss, outputs) if return_outputs else loss


def _shared_length(ids: torch.Tensor, mask: torch.Tensor, most: int) -> int:
    """Number of leading tokens, at most ``most``, that are the same and no padding in every row."""
    same = (ids == ids[0]).all(dim=0) & mask.all(dim=0)
    return int(same[:most].long().cumprod(dim=0).sum())
