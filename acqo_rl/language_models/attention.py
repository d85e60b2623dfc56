"""Attention of grouped heads on a CPU.

Where an attention mask is given, transformers copies the keys and values of a grouped-query model once a query head;
with the long caches of decoding that is most of the work. Torch's CPU kernel reads them where they are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "sdpa_grouped"


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """float[batch, tokens, heads, size]; with gradients transformers' own way is the faster."""
    if attention_mask is None or torch.is_grad_enabled():
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return output, None
    output = scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, scale=options.get("scaling"), enable_gqa=True
    )
    return output.transpose(1, 2).contiguous(), None


def read_groups_in_place(model: Any) -> None:
    """Sets it for a model on a CPU that would use torch's attention."""
    if model.device.type == "cpu" and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
