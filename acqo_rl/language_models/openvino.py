"""Runs a causal language model of transformers on a CPU with OpenVINO, with smaller weights and less work per token."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acqo_rl.errors import ConfigError

if TYPE_CHECKING:
    import torch

    from acqo_rl.language_models.local import TransformersModel
    from acqo_rl.language_models.openvino_graph import Weights

PREFIXES: dict[str, Weights] = {"openvino:": "float16", "openvino-int8:": "int8"}
"""Prefix of a model's name that chooses this engine -> type of the stored weights.

CPUs that support bfloat16 compute in it, others in float32. Weights in float16 are converted when they are loaded.
Weights in int8 take half the memory of bfloat16, but they are slower and change more completions.
"""

GRAPH_FILE = "openvino_model.xml"
_WEIGHTS_FILE = "openvino_model.bin"
_VERSION = "7"
"""Must be increased whenever the graph changes, so that cached graphs are written again."""

_PREPARED_OPERATIONS = "32"
"""Operations that OpenVINO, and oneDNN within it, keep prepared for the shapes that occurred.

By default they keep thousands, at 3 MB per length of a prompt. Preparing them anew takes no measurable time.
"""
_OUT_OF_SIGHT = -1e9

_log = logging.getLogger(__name__)


class Read(NamedTuple):
    """What a model of transformers returns: the cache, and logits of the last tokens, float[rows, last, vocabulary]."""

    past_key_values: Any
    logits: torch.Tensor


class OpenVinoCausalLM:
    """A causal language model that :func:`acqo_rl.language_models.decoding.complete` can call like one of transformers.

    Attributes:
        config: config of the original model.
        generation_config: its generation config.
        device: the CPU.
    """

    def __init__(self, folder: str | Path) -> None:
        """Loads a folder that :func:`write_graph` wrote.

        Args:
            folder: holds graph, weights, config and generation config.
        """
        import openvino
        import torch
        from transformers import AutoConfig, GenerationConfig

        from acqo_rl.language_models.openvino_graph import cache_dtype, precision_of

        self.config = AutoConfig.from_pretrained(folder)
        self.generation_config = GenerationConfig.from_pretrained(folder)
        self.device = torch.device("cpu")
        threads = torch.get_num_threads()
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _PREPARED_OPERATIONS)
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
            "CPU_RUNTIME_CACHE_CAPACITY": _PREPARED_OPERATIONS,
        }
        core = openvino.Core()
        graph = core.read_model(Path(folder, GRAPH_FILE))
        # Integer activations, the default for int8 weights, lose more than bfloat16 and save little time.
        precision = {"INFERENCE_PRECISION_HINT": precision_of(graph), "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        compiled = core.compile_model(graph, "CPU", {**settings, **precision})
        self._request = compiled.create_infer_request()
        self._cache_dtype = cache_dtype(graph)
        self._tensor = openvino.Tensor

    def __call__(
        self,
        *,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        position_ids: torch.Tensor,
        past_key_values: Any,
        logits_to_keep: int = 1,
        **_: Any,
    ) -> Read:
        """Appends tokens to the cache.

        Args:
            input_ids: int[rows, tokens].
            attention_mask: int[rows, columns + tokens]; 0 where a row does not use a column.
            position_ids: int[rows, tokens].
            past_key_values: a cache of ``RoomyLayer``, changed in place.
            logits_to_keep: number of last tokens whose logits are returned.
        """
        import torch

        rows, tokens = input_ids.shape
        columns = attention_mask.shape[1] - tokens
        before = [room for layer in past_key_values.layers for room in self._rooms(layer, rows)]
        mask = torch.full((rows, 1, tokens, before[0].shape[2] + tokens), _OUT_OF_SIGHT)
        seen = attention_mask[:, None, None].bool()
        mask[..., :columns].masked_fill_(seen[..., :columns], 0.0)
        causal = torch.ones(tokens, tokens, dtype=torch.bool).tril()
        mask[..., -tokens:].masked_fill_(seen[..., columns:] & causal, 0.0)
        kept = torch.tensor([-logits_to_keep])
        inputs = [tensor.contiguous() for tensor in (input_ids.int(), position_ids.int(), mask, kept, *before)]
        for number, tensor in enumerate(inputs):
            self._request.set_input_tensor(number, self._tensor(tensor.numpy(), shared_memory=True))
        self._request.infer()  # reads the memory of ``inputs``
        logits, *new = (torch.from_numpy(output.data) for output in self._request.output_tensors)
        for layer, keys, values in zip(past_key_values.layers, new[::2], new[1::2], strict=True):
            layer.update(keys, values) if columns else layer.update(keys.clone(), values.clone())
        return Read(past_key_values, logits.clone())

    def _rooms(self, layer: Any, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of earlier tokens; one unused column if there are none."""
        import torch

        if layer.get_seq_length():
            return layer.room  # type: ignore[no-any-return]
        none = torch.zeros(rows, self.config.num_key_value_heads, 1, self._head_size, dtype=self._cache_dtype)
        return none, none

    @property
    def _head_size(self) -> int:
        config = self.config
        return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def is_installed() -> bool:
    """Whether the engine's package is installed."""
    return importlib.util.find_spec("openvino") is not None


def split_prefix(name: str) -> tuple[Weights | None, str]:
    """Splits the name of a model into the weights that its prefix chooses, if it has one, and the rest."""
    engine, colon, rest = name.partition(":")
    weights = PREFIXES.get(engine + colon)
    return weights, rest if weights else name


def fastest(name: str) -> str:
    """Adds a prefix of this engine to a policy that was exported for it or comes with this package, on a CPU.

    Args:
        name: a folder, Hub id or ``trained:`` name; other names are returned unchanged.
    """
    from acqo_rl.language_models.local import default_device

    if split_prefix(name)[0] or default_device() != "cpu" or not (name.startswith("trained:") or _exported(name)):
        return name
    if not is_installed():
        _log.warning("%s runs with transformers; install acqo-rl[openvino] to run it faster on this CPU", name)
        return name
    return f"openvino:{name}"


def write_graph(model: TransformersModel, folder: Path, weights: Weights) -> None:
    """Writes graph, weights, config and generation config of a model to a folder.

    Raises:
        ConfigError: the architecture is not supported, or OpenVINO is not installed.
    """
    try:
        import openvino
    except ModuleNotFoundError as error:
        raise ConfigError("A graph for OpenVINO needs the package openvino; install acqo-rl[openvino].") from error
    from acqo_rl.language_models.openvino_graph import build_graph, keep_float16

    openvino.save_model(build_graph(model.model, weights), folder / GRAPH_FILE, compress_to_fp16=False)
    keep_float16(folder / GRAPH_FILE)
    model.model.config.save_pretrained(folder)
    model.model.generation_config.save_pretrained(folder)


def _exported(name: str) -> Path | None:
    """The folder of the graph that was exported with a model, in a folder or on the Hub."""
    from transformers.utils import cached_file

    from acqo_rl.language_models.local import is_missing_folder

    if is_missing_folder(name):
        return None
    try:
        files = [
            cached_file(name, file, _raise_exceptions_for_missing_entries=False)
            for file in (GRAPH_FILE, _WEIGHTS_FILE, "config.json")
        ]
    except OSError:  # neither a folder nor on the Hub; loading it says so
        return None
    return Path(files[0]).parent if all(files) else None


def _content(name: str, config_file: str) -> str:
    """SHA-256 over the weights and the config of a model or an adapter, in a folder or on the Hub."""
    from transformers.utils import cached_file

    folder = Path(str(cached_file(name, config_file))).parent
    digest = hashlib.sha256()
    for path in (folder / config_file, *sorted(folder.glob("*.safetensors"))):
        with path.open("rb") as file:
            digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def graph_folder(name: str, weights: Weights) -> Path:
    """Returns the folder of a model's graph; writes it into the cache folder at first use.

    Args:
        name: a folder, Hub id, ``embedded:`` or ``trained:`` name. If a graph was exported with the model, its folder
            is returned, whatever its weights are.
        weights: type of the stored weights.

    Raises:
        ConfigError: OpenVINO is not installed, or the model does not exist or is not supported.
    """
    from acqo_rl.embedded import cached, resolve
    from acqo_rl.language_models.local import TransformersModel, base_model_of

    if not is_installed():
        raise ConfigError(
            f"To run {name} with OpenVINO, install acqo-rl[openvino]; or use {name} without the prefix of the engine."
        )
    if exported := _exported(resolve(name)):
        return exported
    base, adapter = base_model_of(name)
    made_from = [_VERSION, weights, _content(resolve(base), "config.json")]
    made_from += [_content(adapter, "adapter_config.json")] if adapter else []
    key = hashlib.sha256("\n".join(made_from).encode()).hexdigest()

    def write(folder: Path) -> None:
        _log.info("converting %s for OpenVINO", name)
        write_graph(TransformersModel.from_pretrained(name), folder, weights)

    return cached(f"openvino/{key[:16]}", write)
