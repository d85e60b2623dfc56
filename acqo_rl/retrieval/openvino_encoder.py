"""The encoder of the package with OpenVINO on a CPU: without torch, a search starts faster and takes 400 MB less."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.language_models.embedded import cached, resolve
from acqo_rl.language_models.local import default_device
from acqo_rl.language_models.openvino import is_installed, threads

_MODEL = "embedded:minilm"
_FOLDER = "openvino/minilm-1"
"""Its number must be increased whenever the written files change."""


class OpenVinoMiniLm:
    """What an encoder needs of a model of sentence-transformers, computed in float32.

    Attributes:
        tokenizer: a tokenizer of tokenizers.
        max_seq_length: maximum tokens per text; longer texts are truncated.
        prompts: empty, because this model has none.
        default_prompt_name: always ``None``.
    """

    prompts: Mapping[str, str] = {}
    default_prompt_name = None

    def __init__(self) -> None:
        """Loads the model; converts it at first use."""
        import openvino
        from tokenizers import Tokenizer

        folder = Path(resolve(_MODEL))
        settings = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))
        self.max_seq_length: int = settings["max_seq_length"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._network = openvino.Core().compile_model(
            cached(_FOLDER, _convert) / "encoder.xml", "CPU", {**threads(), "INFERENCE_PRECISION_HINT": "f32"}
        )
        self._turn = Lock()

    def get_embedding_dimension(self) -> int:
        """Length of an embedding."""
        return int(self._network.output(0).partial_shape[1].get_length())

    def encode_query(self, texts: Sequence[str], *, prompt: str | None = None, **_: Any) -> NDArray[np.float32]:
        """Embeddings of texts, float32[texts, dim]; further settings of sentence-transformers are ignored."""
        limit = self.max_seq_length
        read = [encoded.ids for encoded in self.tokenizer.encode_batch([(prompt or "") + text for text in texts])]
        rows = [ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]] for ids in read]
        ids, mask = np.zeros((2, len(rows), max(map(len, rows))), np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)], mask[place, : len(row)] = row, 1
        with self._turn:
            embeddings: NDArray[np.float32] = self._network([ids, mask, np.zeros_like(ids)])[0].copy()
        return embeddings

    encode_document = encode_query


def runs(model: str, revision: str | None, dtype: str, device: str | None) -> bool:
    """Whether :class:`OpenVinoMiniLm` computes an encoder: the package's own on a CPU where float32 is fastest."""
    on_cpu = device is None or device.partition(":")[0] == "cpu"  # "cpu:0" under accelerate
    if model != _MODEL or revision or dtype not in ("auto", "float32") or not on_cpu:
        return False
    flags = Path("/proc/cpuinfo")
    in_bfloat16 = dtype == "auto" and flags.exists() and "amx_tile" in flags.read_text(encoding="utf-8")
    return is_installed() and default_device() == "cpu" and not in_bfloat16


def _convert(folder: Path) -> None:
    import openvino
    import torch
    from sentence_transformers import SentenceTransformer

    eager = {"attn_implementation": "eager"}
    model = SentenceTransformer(resolve(_MODEL), device="cpu", trust_remote_code=False, model_kwargs=eager)

    class Traced(torch.nn.Module):
        def forward(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
            embeddings: torch.Tensor = model(features)["sentence_embedding"]
            return embeddings

    model.eval().requires_grad_(False)
    example = torch.ones((2, 5), dtype=torch.int64)
    graph = openvino.convert_model(Traced(), example_input=(example, example, torch.zeros_like(example)))
    openvino.save_model(graph, folder / "encoder.xml", compress_to_fp16=False)
