"""Runs a policy on a CPU with OpenVINO GenAI: continuous batching, cached prefixes and guided decoding.

Concurrent calls share one batch: their prompts join it at any step (iteration-level scheduling: Yu et al., Orca, OSDI
2022).
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Condition
from typing import Any

import numpy as np

from acqo_rl import time_limit
from acqo_rl.errors import ConfigError
from acqo_rl.files import hash_files
from acqo_rl.language_models.chat import Chat, StoredChat, save_chat
from acqo_rl.language_models.embedded import cached, loading, resolve
from acqo_rl.language_models.local import TransformersModel, base_model_of, default_device, file_of
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Conversation, Schema

PREFIX = "openvino:"
"""Prefix of a model's name that chooses this engine. CPUs that support bfloat16 compute in it, others in float32."""

COMPUTED_IN = {"KV_CACHE_PRECISION": "f16"}
"""OpenVINO's settings of precision that are not its defaults; by default it rounds keys and values to 8 bits."""

_FILE = "model.gguf"
_VERSION = "4"
"""Must be increased whenever the written files change, so that cached files are written again."""
_CACHED_TOKENS_PER_ROW = 512
_TOKENS_PER_BLOCK = 32
_TOKENS_PER_STEP = 2_048

_log = logging.getLogger(__name__)


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
        batch_size: int | None = None,
        regex: str | None = None,
    ) -> None:
        """Loads a model.

        Args:
            folder: a folder with the model as a GGUF file.
            chat: writes prompts and reads completions.
            max_new_tokens: maximum number of tokens per completion.
            batch_size: maximum number of prompts per batch; by default 32.
            regex: regular expression that completions match.
        """
        import openvino_genai

        self.chat = chat
        form = {"structured_output_config": openvino_genai.StructuredOutputConfig(regex=regex)} if regex else {}
        self._config = openvino_genai.GenerationConfig(
            max_new_tokens=max_new_tokens, stop_token_ids=set(chat.ends), do_sample=False, **form
        )
        rows = batch_size or 32
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.enable_prefix_caching = True
        scheduler.num_kv_blocks = max(rows, 16) * _CACHED_TOKENS_PER_ROW // _TOKENS_PER_BLOCK
        scheduler.max_num_batched_tokens = _TOKENS_PER_STEP
        scheduler.max_num_seqs = rows
        settings = {**threads(), **COMPUTED_IN}
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(str(folder / _FILE), scheduler, "CPU", settings)
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
    from acqo_rl.language_models.gguf import write_gguf

    if not is_installed():
        raise ConfigError(
            f"To run {name} with OpenVINO, install acqo-rl[openvino]; or use {name} without the prefix {PREFIX}."
        )
    base, adapter = base_model_of(name)
    made_from = [_VERSION, _content(resolve(base), "config.json")]
    made_from += [_content(adapter, "adapter_config.json")] if adapter else []
    key = hashlib.sha256("\n".join(made_from).encode()).hexdigest()

    def write(folder: Path) -> None:
        _log.info("converting %s for OpenVINO", name)
        model = TransformersModel.from_pretrained(name)
        write_gguf(model.model, model.chat.tokenizer, folder / _FILE)
        save_chat(model.chat, folder)

    return cached(f"openvino/{key[:16]}", write)


def _content(name: str, config_file: str) -> str:
    """SHA-256 over the weights and the config of a model or an adapter, in a folder or on the Hub."""
    folder = Path(str(file_of(name, config_file))).parent
    return hash_files((folder / config_file, *sorted(folder.glob("*.safetensors"))))
