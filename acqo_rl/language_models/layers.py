"""Removes layers of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acqo_rl.errors import ConfigError

if TYPE_CHECKING:
    from torch.nn import ModuleList


def layers_of(model: Any) -> ModuleList:
    """The transformer layers of a causal language model.

    Raises:
        ConfigError: the model has no list of layers that this module knows.
    """
    from torch.nn import ModuleList

    decoder = model.get_decoder()
    layers = getattr(decoder, "layers", None)
    if not isinstance(layers, ModuleList):
        raise ConfigError(
            f"The layers of {type(decoder).__name__} cannot be removed; use a model with a list named layers, such as"
            " Llama, Qwen2 or Qwen3."
        )
    return layers


def keep_layers(model: Any, kept: Sequence[int]) -> None:
    """Removes all transformer layers except some from a causal language model, in place.

    Args:
        model: a causal language model of transformers, without an adapter.
        kept: numbers of the layers that stay, counted from 0, in ascending order.

    Raises:
        ConfigError: the model has no list of layers, or lacks one of these layers.
    """
    from torch.nn import ModuleList

    layers = layers_of(model)
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
