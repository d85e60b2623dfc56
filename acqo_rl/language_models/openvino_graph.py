"""Writes a causal language model as an OpenVINO graph that reads one step of :mod:`acqo_rl.language_models.decoding`.

The attention cache is not part of the graph: keys and values of earlier tokens are inputs and those of new tokens are
outputs, so that rows can join and leave a batch between two steps. The inputs of earlier tokens are never copied.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
import openvino as ov
import torch
from numpy.typing import NDArray
from openvino import opset13 as ops

from acqo_rl.errors import ConfigError

Weights = Literal["float32", "float16", "int8"]
GROUP = 32
"""Number of int8 weights that share a scale."""
ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Values of ``model_type`` in a model's config: attention over all tokens, RMSNorm and a gated feed-forward layer."""

_FIRST_CACHE_INPUT = 4
_PRECISION = ["acqo_rl", "precision"]
_PROJECTION = ".weight"
"""End of the names of the weights of projections, in a graph."""


def precision_of(graph: ov.Model) -> str:
    """What a graph is computed in, as OpenVINO's precision hint; CPUs without bfloat16 use float32 in any case."""
    return str(graph.get_rt_info(_PRECISION).value)


def cache_dtype(graph: ov.Model) -> torch.dtype:
    """Type of the keys and values of a graph."""
    return torch.float16 if graph.inputs[_FIRST_CACHE_INPUT].element_type == ov.Type.f16 else torch.float32


def build_graph(model: Any, weights: Weights) -> ov.Model:
    """Builds the graph of a causal language model.

    Inputs, with ``columns`` earlier tokens and ``size`` numbers per head:

    - ``input_ids`` and ``position_ids``: int32[rows, tokens].
    - ``mask``: float32[rows, 1, tokens, columns + tokens], added to the attention scores.
    - ``first_kept``: int64[1], the first of the tokens that get logits; negative numbers count from the end.
    - ``keys.N`` and ``values.N`` of layer N: [rows, key_value_heads, columns, size], in float32 if the weights are,
      else in float16, which takes half the memory.

    Outputs: ``logits``, float32[rows, kept tokens, vocabulary], then the keys and values of the new tokens.

    Args:
        model: a model of transformers, in float32 and without an adapter.
        weights: type of the stored weights; int8 has one scale for every ``GROUP`` weights. :func:`precision_of` reads
            from the graph what it is computed in.

    Raises:
        ConfigError: the architecture is not supported.
    """
    config = model.config
    windows = [kind for kind in getattr(config, "layer_types", None) or () if kind != "full_attention"]
    if config.model_type not in ARCHITECTURES or windows or config.hidden_act != "silu":
        raise ConfigError(
            f"A model of type {config.model_type!r} cannot run with OpenVINO here; use one of the types"
            f" {', '.join(ARCHITECTURES)} without sliding windows, or use the model without the prefix openvino:."
        )
    return _Builder(model, weights).build()


def keep_float16(file: Path) -> None:
    """Marks the float16 weights of projections in a saved graph, so that OpenVINO makes no float32 copy of them.

    This saves 240 MB for a model with 135 million parameters. The marks are those that OpenVINO writes when it
    compresses a whole graph; its Python interface cannot set them for single weights. The weights of the vocabulary
    are not marked, because their logits would be rounded to bfloat16.
    """
    graph = ElementTree.parse(file)
    for layer in graph.iterfind("layers/layer[@type='Convert']"):
        if layer.get("name", "").endswith(_PROJECTION):
            marks = ElementTree.Element("rt_info")
            ElementTree.SubElement(marks, "attribute", name="decompression", version="0")
            layer.insert(1, marks)  # after <data>
    graph.write(file)


class _Builder:
    def __init__(self, model: Any, weights: Weights) -> None:
        config = model.config
        self.weights = weights
        self.tensors = {name: tensor.detach().float().numpy() for name, tensor in model.state_dict().items()}
        self.rope = model.model.rotary_emb
        self.layers: int = config.num_hidden_layers
        self.heads: int = config.num_attention_heads
        self.groups: int = config.num_key_value_heads
        self.size: int = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.epsilon: float = config.rms_norm_eps

    def build(self) -> ov.Model:
        ids = ops.parameter([-1, -1], np.int32, "input_ids")
        positions = ops.parameter([-1, -1], np.int32, "position_ids")
        self.mask = ops.parameter([-1, 1, -1, -1], np.float32, "mask")
        self.cos, self.sin = self._rotations(positions)
        first_kept = ops.parameter([1], np.int64, "first_kept")
        inputs: list[Any] = [ids, positions, self.mask, first_kept]
        outputs: list[Any] = []
        vocabulary = self._stored(self.tensors["model.embed_tokens.weight"])
        x = ops.gather(vocabulary, ids, _ints(0))
        kept = np.float32 if self.weights == "float32" else np.float16
        for number in range(self.layers):
            before = [
                ops.parameter([-1, self.groups, -1, self.size], kept, f"{name}.{number}") for name in ("keys", "values")
            ]
            layer = f"model.layers.{number}."
            read = [ops.convert(tensor, np.float32) for tensor in before]
            attended, new = self._attention(self._norm(x, f"{layer}input_layernorm"), f"{layer}self_attn.", *read)
            x = ops.add(x, attended)
            x = ops.add(x, self._feed_forward(self._norm(x, f"{layer}post_attention_layernorm"), f"{layer}mlp."))
            inputs += before
            outputs += [ops.convert(tensor, kept) for tensor in new]
        last = ops.slice(x, first_kept, _ints(np.iinfo(np.int64).max), _ints(1), _ints(1))
        x = self._norm(last, "model.norm")
        head = self.tensors.get("lm_head.weight")
        logits = ops.matmul(x, vocabulary if head is None else self._stored(head), False, True)
        graph = ov.Model([ops.result(output) for output in (logits, *outputs)], inputs)
        graph.set_rt_info("f32" if self.weights == "float32" else "bf16", _PRECISION)
        return graph

    def _rotations(self, positions: Any) -> tuple[Any, Any]:
        """Cosines and sines of rotary position embeddings, float32[rows, 1, tokens, size]."""
        frequencies = self.rope.inv_freq.float().numpy()[None, None]
        angles = ops.multiply(ops.unsqueeze(ops.convert(positions, np.float32), _ints(-1)), _floats(frequencies))
        angles = ops.unsqueeze(ops.concat([angles, angles], -1), _ints(1))
        scale = _floats(self.rope.attention_scaling)
        return ops.multiply(ops.cos(angles), scale), ops.multiply(ops.sin(angles), scale)

    def _attention(self, x: Any, name: str, keys: Any, values: Any) -> tuple[Any, tuple[Any, Any]]:
        """Attention of new tokens to earlier ones and to each other; the output, and the new keys and values.

        The query heads of a group are rows of one product with its keys, so that keys need not be repeated. Scores of
        earlier and new tokens are computed separately, so that the cache need not be copied.
        """
        projected = self._linear(x, *(f"{name}{part}_proj" for part in "qkv"))
        heads = ops.transpose(ops.reshape(projected, _ints(0, 0, -1, self.size), True), _ints(0, 2, 1, 3))
        rotated, v = _split(heads, 1, self.heads + self.groups, self.groups)
        if f"{name}q_norm.weight" in self.tensors:
            norms = [self.tensors[f"{name}{part}_norm.weight"] for part in "qk"]
            rotated = self._normed(rotated, np.repeat(norms, (self.heads, self.groups), axis=0)[:, None])
        q, k = _split(self._rotated(rotated), 1, self.heads, self.groups)
        q = ops.multiply(q, _floats(self.size**-0.5))
        grouped = ops.reshape(q, _ints(0, self.groups, -1, self.size), True)
        scores = ops.concat([ops.matmul(grouped, keys, False, True), ops.matmul(grouped, k, False, True)], -1)
        by_head = ops.concat([_lengths(q, 0, 1, 2), _ints(-1)], 0)
        by_group = ops.concat([_lengths(grouped, 0, 1, 2), _ints(-1)], 0)
        shares = ops.softmax(ops.add(ops.reshape(scores, by_head, False), self.mask), -1)
        parts = ops.concat([_lengths(keys, 2), _ints(-1)], 0)
        earlier, new = ops.variadic_split(ops.reshape(shares, by_group, False), _ints(-1), parts).outputs()
        read = ops.add(ops.matmul(earlier, values, False, False), ops.matmul(new, v, False, False))
        read = ops.transpose(ops.reshape(read, ops.shape_of(q), False), _ints(0, 2, 1, 3))
        read = ops.reshape(read, _ints(0, 0, self.heads * self.size), True)
        return self._linear(read, f"{name}o_proj"), (k, v)

    def _rotated(self, x: Any) -> Any:
        first, second = ops.split(x, ops.constant(np.int64(-1)), 2).outputs()
        turned = ops.concat([ops.multiply(second, _floats(-1.0)), first], -1)
        return ops.add(ops.multiply(x, self.cos), ops.multiply(turned, self.sin))

    def _feed_forward(self, x: Any, name: str) -> Any:
        both = self._linear(x, f"{name}gate_proj", f"{name}up_proj")
        gate, up = ops.split(both, ops.constant(np.int64(-1)), 2).outputs()
        return self._linear(ops.multiply(ops.swish(gate), up), f"{name}down_proj")

    def _norm(self, x: Any, name: str) -> Any:
        return self._normed(x, self.tensors[f"{name}.weight"])

    def _normed(self, x: Any, weights: NDArray[np.float32]) -> Any:
        squares = ops.reduce_mean(ops.power(x, _floats(2.0)), _ints(-1), True)
        inverse = ops.divide(_floats(1.0), ops.sqrt(ops.add(squares, _floats(self.epsilon))))
        return ops.multiply(ops.multiply(x, inverse), _floats(weights))

    def _linear(self, x: Any, *names: str) -> Any:
        """The outputs of one or several projections of the same input, one behind the other."""
        weights = self._stored(np.concatenate([self.tensors[f"{name}.weight"] for name in names]))
        weights.set_friendly_name(f"{names[0]}{_PROJECTION}")
        product = ops.matmul(x, weights, False, True)
        biases = [self.tensors[f"{name}.bias"] for name in names if f"{name}.bias" in self.tensors]
        return ops.add(product, _floats(np.concatenate(biases))) if biases else product

    def _stored(self, weights: NDArray[np.float32]) -> Any:
        """A matrix as it is stored, and its conversion to float32, which OpenVINO merges into the product."""
        if self.weights == "float32":
            return ops.constant(weights)
        if self.weights == "float16":
            return ops.convert(ops.constant(weights.astype(np.float16)), np.float32)
        rows, columns = weights.shape
        groups = weights.reshape(rows, -1, GROUP if columns % GROUP == 0 else columns)
        scales = np.maximum(np.abs(groups).max(axis=-1, keepdims=True) / 127, np.finfo(np.float32).tiny)
        stored = ops.constant(np.rint(groups / scales).astype(np.int8))
        restored = ops.multiply(ops.convert(stored, np.float32), ops.constant(scales))
        return ops.reshape(restored, _ints(rows, columns), False)


def _split(x: Any, axis: int, *sizes: int) -> Any:
    return ops.variadic_split(x, ops.constant(np.int64(axis)), _ints(*sizes)).outputs()


def _lengths(x: Any, *axes: int) -> Any:
    return ops.gather(ops.shape_of(x), _ints(*axes), _ints(0))


def _ints(*values: int) -> Any:
    return ops.constant(np.array(values, dtype=np.int64))


def _floats(values: Any) -> Any:
    return ops.constant(np.asarray(values, dtype=np.float32))
