"""Writes a causal language model as a GGUF file, which OpenVINO GenAI reads."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Values of ``model_type`` in a model's config: attention over all tokens, RMSNorm and a gated feed-forward layer."""


def write_gguf(model: Any, tokenizer: Any, file: Path) -> None:
    """Writes the weights of a model in float16, with the vocabulary of its tokenizer.

    Args:
        model: a model of transformers, without an adapter.
        tokenizer: its tokenizer, with byte-level BPE.
        file: the file to write.

    Raises:
        ConfigError: the architecture or the tokenizer is not supported.
    """
    import gguf

    config = model.config
    windows = [kind for kind in getattr(config, "layer_types", None) or () if kind != "full_attention"]
    if config.model_type not in ARCHITECTURES or windows or config.hidden_act != "silu":
        raise ConfigError(
            f"A model of type {config.model_type!r} cannot run with OpenVINO here; use one of the types"
            f" {', '.join(ARCHITECTURES)} without sliding windows, or use the model without the prefix openvino:."
        )
    writer = gguf.GGUFWriter(file, config.model_type)
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _add_vocabulary(writer, tokenizer, config.vocab_size)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[config.model_type.upper()], config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        weights = tensor.detach().float().cpu().numpy()
        if config.model_type == "llama":
            weights = _interleaved(name, weights, config)
        stored = weights.astype(np.float16 if weights.ndim == 2 else np.float32)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any, tokenizer: Any, size: int) -> None:
    import gguf

    bpe = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    if bpe["type"] != "BPE" or "ByteLevel" not in str(tokenizer.backend_tokenizer.decoder):
        raise ConfigError("The tokenizer is not byte-level BPE; use the model without the prefix openvino:.")
    tokens = [tokenizer.convert_ids_to_tokens(i) or f"<unused {i}>" for i in range(min(size, len(tokenizer)))]
    tokens += [f"<unused {i}>" for i in range(len(tokens), size)]
    special = set(tokenizer.all_special_ids)
    kinds = [gguf.TokenType.CONTROL if i in special else gguf.TokenType.NORMAL for i in range(size)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2" if writer.arch.startswith("qwen") else "smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in bpe["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)


def _interleaved(name: str, weights: NDArray[np.float32], config: Any) -> NDArray[np.float32]:
    """Rows of query and key weights in the order of GGUF, whose rotations pair neighbouring numbers."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
    if heads is None:
        return weights
    rows = weights.shape[0]
    return weights.reshape(heads, 2, rows // heads // 2, -1).swapaxes(1, 2).reshape(weights.shape)
