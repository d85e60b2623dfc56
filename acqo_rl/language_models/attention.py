"""Faster attention for grouped-query models on a CPU.

With an attention mask, transformers copies keys and values for every query head. With the long caches of decoding, this
takes most of the time. Torch's CPU kernel reads them without copying.
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
    """Attention output, float[batch, tokens, heads, size]; with gradients it uses the faster one of transformers."""
    if attention_mask is None or torch.is_grad_enabled():
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return output, None
    output = scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, scale=options.get("scaling"), enable_gqa=True
    )
    return output.transpose(1, 2).contiguous(), None


def read_groups_in_place(model: Any) -> None:
    """Enables this attention for a model on a CPU that uses torch's attention (``sdpa``)."""
    if model.device.type == "cpu" and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
