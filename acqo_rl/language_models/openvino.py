"""Runs a policy on a CPU with OpenVINO GenAI: continuous batching, cached prefixes and guided decoding.

Concurrent calls share one batch: their prompts join it at any step (iteration-level scheduling: Yu et al., Orca, OSDI
2022).
"""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Condition
from typing import Any

import numpy as np

from acqo_rl import time_limit
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.cache import cached, checksums
from acqo_rl.language_models.chat import Chat, StoredChat, save_chat
from acqo_rl.language_models.embedded import loading, resolve
from acqo_rl.language_models.local import TransformersModel, base_model_of, default_device, file_of
from acqo_rl.roles import LanguageModel, Vectors
from acqo_rl.types import Completion, Conversation, Schema

PREFIX = "openvino:"
"""Prefix of a model's name that chooses this engine. CPUs that support bfloat16 compute in it, others in float32."""

COMPUTED_IN = {"KV_CACHE_PRECISION": "f16"}
"""OpenVINO's settings of precision that are not its defaults; by default it rounds keys and values to 8 bits."""

_REMEMBERED = {"CPU_RUNTIME_CACHE_CAPACITY": "50"}
"""Kernels that OpenVINO keeps for later batches of the same shape. With its default, their memory grew under load.

Batches seldom have the shape of an earlier one; the layers of a model share their kernels.
"""

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Values of ``model_type`` in a model's config: attention over all tokens, RMSNorm and a gated feed-forward layer."""

_VERSION = "6"
"""Must be increased whenever the written files change, so that cached files are written again."""
_OLDER_NAMES = ("*.gguf", "[0-9a-f]" * 16)
"""Of files and folders that earlier versions of this package wrote."""
_CACHED_TOKENS_PER_ROW = 512
_TOKENS_PER_BLOCK = 32
_TOKENS_PER_STEP = 2_048

_log = logging.getLogger(__name__)


def import_openvino() -> Any:
    """Imports OpenVINO without the event that this would send to Google Analytics, which has no other switch."""
    is_known = "openvino_telemetry" in sys.modules
    if not is_known:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    try:
        import openvino
    finally:
        if not is_known:
            del sys.modules["openvino_telemetry"]
    return openvino


class OpenVinoModel(LanguageModel):
    """A chat model on a CPU, with greedy decoding.

    Attributes:
        chat: writes prompts and reads completions.
    """

    def __init__(
        self,
        folder: Path,
        chat: Chat | StoredChat,
        *,
        max_new_tokens: int = 64,
        batch_size: int = 32,
        regex: str | None = None,
    ) -> None:
        """Loads a model.

        Args:
            folder: what :func:`write_graph` has written.
            chat: writes prompts and reads completions.
            max_new_tokens: maximum number of tokens per completion.
            batch_size: maximum number of prompts per batch.
            regex: regular expression that completions match.
        """
        import_openvino()
        import openvino_genai

        self.chat = chat
        form = {"structured_output_config": openvino_genai.StructuredOutputConfig(regex=regex)} if regex else {}
        self._config = openvino_genai.GenerationConfig(
            max_new_tokens=max_new_tokens, stop_token_ids=set(chat.ends), do_sample=False, **form
        )
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.enable_prefix_caching = True
        scheduler.num_kv_blocks = max(batch_size, 16) * _CACHED_TOKENS_PER_ROW // _TOKENS_PER_BLOCK
        scheduler.max_num_batched_tokens = _TOKENS_PER_STEP
        scheduler.max_num_seqs = batch_size
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(
            str(folder), scheduler, "CPU", threads() | COMPUTED_IN | _REMEMBERED
        )
        self._running = openvino_genai.GenerationStatus.RUNNING
        self._finished = openvino_genai.GenerationStatus.FINISHED
        self._changed = Condition()
        self._is_led = False
        self._requests = 0

    @classmethod
    def from_pretrained(cls, name: str, **settings: Any) -> OpenVinoModel:
        """Loads a model from a Hub id, a folder, an ``embedded:`` or a ``trained:`` name, without :data:`PREFIX`.

        Raises:
            ConfigError: OpenVINO GenAI is not installed, or the model does not exist or is not supported.
        """
        folder = files_of(name)
        with loading("The files of", name, f"Delete {folder}, or use the model without the prefix {PREFIX}."):
            return cls(folder, StoredChat(folder), **settings)

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; calls of other threads share the batch.

        One of the calling threads makes the steps for all, until its own completions are finished; then another goes
        on.

        Args:
            conversations: the prompts.
            schema: not used, because policies write no JSON.

        Raises:
            TimeoutError: the time limit of the request has ended, see :mod:`acqo_rl.time_limit`.
        """
        handles = [self._add(self.chat.prompt_ids(conversation)) for conversation in conversations]

        def is_done() -> bool:
            """Whether all completions are finished, or given up because the time limit of the request has ended."""
            if time_limit.current().seconds == 0.0:
                for handle in handles:
                    handle.cancel()
            return all(handle.get_status() != self._running for handle in handles)

        while not is_done():
            with self._changed:
                self._changed.wait_for(lambda: not self._is_led or is_done())
                if self._is_led or is_done():
                    continue
                self._is_led = True
            try:
                while not is_done():
                    self._pipeline.step()
                    with self._changed:
                        self._changed.notify_all()
            finally:
                with self._changed:
                    self._is_led = False
                    self._changed.notify_all()
        if time_limit.current().seconds == 0.0:
            raise TimeoutError("the time limit ended this call")
        written = [
            list(handle.read_all()[0].generated_ids) if handle.get_status() == self._finished else []
            for handle in handles
        ]
        return list(map(self.chat.completion, written))

    def _add(self, prompt: Sequence[int]) -> Any:
        import openvino

        with self._changed:
            self._requests += 1
            ids = openvino.Tensor(np.array([prompt], np.int64))
            return self._pipeline.add_request(self._requests, ids, self._config)


def threads() -> dict[str, Any]:
    """OpenVINO's settings of threads: as many as ``OMP_NUM_THREADS`` says, by default one per core."""
    count = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return {"INFERENCE_NUM_THREADS": int(count) if count.isdigit() else 0, "ENABLE_CPU_PINNING": False}


def is_installed() -> bool:
    """Whether the engine's package is installed."""
    return importlib.util.find_spec("openvino_genai") is not None


def fastest(name: str) -> str:
    """Adds the prefix of this engine to a policy of this package (``trained:NAME``), on a CPU."""
    if not name.startswith("trained:") or default_device() != "cpu":
        return name
    if not is_installed():
        _log.warning("%s runs with transformers; install acqo-rl[openvino] to run it faster on this CPU", name)
        return name
    return f"{PREFIX}{name}"


def files_of(name: str) -> Path:
    """Returns the folder with the files of a model; writes them into the cache folder at first use.

    Args:
        name: a folder, Hub id, ``embedded:`` or ``trained:`` name.

    Raises:
        ConfigError: OpenVINO GenAI is not installed, or the model does not exist or is not supported.
    """
    if not is_installed():
        raise ConfigError(
            f"To run {name} with OpenVINO, install acqo-rl[openvino]; or use {name} without the prefix {PREFIX}."
        )
    base, adapter = base_model_of(name)
    content = [_VERSION, _content(resolve(base), "config.json")]
    content += [_content(adapter, "adapter_config.json")] if adapter else []
    place = Path(adapter or resolve(base))
    owner = _short_hash(str(place.absolute() if place.is_dir() else place))

    def write(folder: Path) -> None:
        _log.info("converting %s for OpenVINO", name)
        model = TransformersModel.from_pretrained(name)
        write_graph(model.model, model.chat, folder)

    older = (*_OLDER_NAMES, f"{owner}-*")
    return cached(f"openvino/{owner}-{_short_hash(*content)}", write, older)


def _short_hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _content(name: str, config_file: str) -> str:
    """The names and checksums of the files of a model or an adapter in a folder; on the Hub, its commit."""
    folder = Path(name)
    if not folder.is_dir():
        return Path(str(file_of(name, config_file))).parent.name
    read = ("*", "*/*.jinja", "*/**/*.safetensors")
    files = sorted(path for pattern in read for path in folder.glob(pattern) if path.is_file())
    return json.dumps([[path.relative_to(folder).as_posix() for path in files], checksums(files)])


def write_graph(model: Any, chat: Chat, folder: Path) -> None:
    """Writes a model and its tokenizer as graphs of OpenVINO, and what :class:`StoredChat` reads.

    OpenVINO GenAI makes the graph from a GGUF file; it loads the graph faster than that file, and with less memory.

    Args:
        model: a model of transformers, without an adapter.
        chat: writes prompts with its tokenizer, which has byte-level BPE.
        folder: an empty folder.

    Raises:
        ConfigError: the architecture or the tokenizer is not supported.
    """
    openvino = import_openvino()
    import openvino_genai
    from openvino_tokenizers import convert_tokenizer
    from tokenizers.decoders import ByteLevel

    save_chat(chat, folder)
    file = folder / "model.gguf"
    _write_gguf(model, chat.tokenizer, file)
    saved = {"enable_save_ov_model": True}
    openvino_genai.ContinuousBatchingPipeline(str(file), openvino_genai.SchedulerConfig(), "CPU", saved)
    file.unlink()
    tokenizer = copy.deepcopy(chat.tokenizer)
    tokenizer.backend_tokenizer.decoder = ByteLevel()
    for graph, name in zip(
        convert_tokenizer(tokenizer, with_detokenizer=True), ("tokenizer", "detokenizer"), strict=True
    ):
        openvino.save_model(graph, folder / f"openvino_{name}.xml")


def _write_gguf(model: Any, tokenizer: Any, file: Path) -> None:
    """Writes a model with the vocabulary of its tokenizer: projections in 8 bits, word vectors in float16."""
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
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    _add_vocabulary(writer, tokenizer, config.vocab_size)
    form = gguf.GGMLQuantizationType.Q8_0
    block, _ = gguf.GGML_QUANT_SIZES[form]
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[config.model_type.upper()], config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        weights = tensor.detach().float().cpu().numpy()
        if config.model_type == "llama":
            weights = _interleaved(name, weights, config)
        stored_name = names.get_name(name, (".weight", ".bias"))
        if name.endswith("_proj.weight") and weights.shape[1] % block == 0:
            writer.add_tensor(stored_name, gguf.quants.quantize(weights, form), raw_dtype=form)
        else:
            writer.add_tensor(stored_name, weights.astype(np.float16 if weights.ndim == 2 else np.float32))
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


def _interleaved(name: str, weights: Vectors, config: Any) -> Vectors:
    """Rows of query and key weights in the order of GGUF, whose rotations pair neighbouring numbers."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
    if heads is None:
        return weights
    return weights.reshape(heads, 2, len(weights) // heads // 2, -1).swapaxes(1, 2).reshape(weights.shape)
