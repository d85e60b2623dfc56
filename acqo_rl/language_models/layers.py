"""Removes layers of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acqo_rl.errors import ConfigError


def keep_layers(model: Any, kept: Sequence[int]) -> None:
    """Removes all transformer layers except some from a causal language model, in place.

    Args:
        model: a causal language model of transformers, such as Llama, without an adapter.
        kept: numbers of the layers that stay, counted from 0, in ascending order.

    Raises:
        ConfigError: the model lacks one of these layers.
    """
    from torch.nn import ModuleList

    layers = model.get_decoder().layers
    if not kept or list(kept) != sorted(set(kept)) or not 0 <= kept[0] <= kept[-1] < len(layers):
        raise ConfigError(f"The model has layers 0 to {len(layers) - 1}; it cannot keep {list(kept)}.")
    remaining: Any = ModuleList([layers[number] for number in kept])
    model.get_decoder().layers = remaining
    for number, layer in enumerate(remaining):
        for module in layer.modules():
            if hasattr(module, "layer_idx"):
                module.layer_idx = number
    config = model.config.get_text_config()
    if getattr(config, "layer_types", None):
        config.layer_types = [config.layer_types[number] for number in kept]
    config.num_hidden_layers = len(kept)
