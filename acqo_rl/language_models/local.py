"""Language models that run in this process through transformers."""

from __future__ import annotations

import copy
import json
import os
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.errors import ConfigError
from acqo_rl.files import read_json
from acqo_rl.language_models.chat import Chat, prepare_template
from acqo_rl.language_models.embedded import loading, resolve
from acqo_rl.language_models.guided import GuidedDecoding
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Conversation, Schema

if TYPE_CHECKING:
    import torch

_GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Devices of the drivers of GPUs on Linux: NVIDIA, AMD, and Windows' subsystem."""


def native_dtype(device: str = "cpu") -> torch.dtype:
    """bfloat16 if the device is fast in it, else float32.

    A CPU needs AMX for this. With AVX-512 only, decoding gained nothing or took up to twice as long as in float32;
    training, which reads whole sequences, has a rule of its own.
    """
    import torch

    if device.startswith("cuda"):
        return torch.bfloat16 if torch.cuda.is_bf16_supported(False) else torch.float32
    return torch.bfloat16 if torch.cpu._is_amx_tile_supported() else torch.float32


def default_device() -> str:
    """``cuda`` if there is a GPU, else ``cpu``; torch is imported only if there may be one."""
    if sys.platform == "linux" and not any(map(os.path.exists, _GPUS)):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def file_of(name: str, file: str, *, required: bool = True) -> Path | None:
    """A file of a model in a folder or on the Hub; ``None`` if it has none.

    Raises:
        OSError: the model is not available, or has no such file and the file is required.
    """
    if Path(name).is_dir() and Path(name, file).is_file():
        return Path(name, file)
    if Path(name).is_dir() and not required:
        return None
    from transformers.utils import cached_file  # takes seconds and 250 MB

    found = cached_file(name, file, _raise_exceptions_for_missing_entries=required)
    return None if found is None else Path(found)


def is_missing_folder(name: str) -> bool:
    """Whether a name must be a local folder but the folder does not exist, so that a Hub request is pointless.

    A Hub id has at most one slash and no leading dot or tilde, and its first part is not an existing local folder.
    """
    path = Path(name).expanduser()
    looks_local = name.startswith((".", "/", "~")) or name.count("/") > 1 or ("/" in name and path.parent.is_dir())
    return looks_local and not path.is_dir()


def base_model_of(name: str) -> tuple[str, str | None]:
    """Returns the name of the base model and, if ``name`` is a LoRA adapter, the adapter's folder or Hub id.

    Raises:
        ConfigError: the model does not exist, or it is an adapter with pickled weights.
    """
    path = resolve(name)
    if is_missing_folder(path):
        raise ConfigError(f"The model {name!r} does not exist: no such folder. Give an existing folder or a Hub id.")
    try:
        file = file_of(path, "adapter_config.json", required=False)
        if file is None:
            return name, None
        weights = file_of(path, "adapter_model.safetensors", required=False)
    except OSError as error:
        raise ConfigError(
            f"The model {name!r} is neither a local folder nor available on the Hub ({error}); check its name."
        ) from error
    if weights is None:
        raise ConfigError(
            f"The adapter {name!r} has no adapter_model.safetensors; save it as safetensors, because pickled weights"
            f" are never read."
        )
    with loading("The adapter", path, "Its adapter_config.json needs the entry base_model_name_or_path."):
        return str(read_json(file)["base_model_name_or_path"]), path


def load_base(base: str, dtype: torch.dtype) -> Any:
    """Loads a causal language model without an adapter.

    Raises:
        ConfigError: the model cannot be loaded without running remote code or reading pickles, or its weights are
            damaged.
    """
    from transformers import AutoModelForCausalLM

    remedy = (
        "Give safetensors weights of a causal language model that transformers supports; remote code and pickles are"
        " never run."
    )
    with loading("The model", base, remedy):
        model, report = AutoModelForCausalLM.from_pretrained(
            resolve(base), dtype=dtype, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
        _check_weights(report["missing_keys"], model.state_dict())
        return model


def with_adapter(model: Any, adapter: str, **options: Any) -> Any:
    """Adds a LoRA adapter to its base model.

    Args:
        model: the base model.
        adapter: folder or Hub id of the adapter.
        options: of ``PeftModel.from_pretrained``.

    Raises:
        ConfigError: the adapter is damaged, or does not fit the base model.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from peft.utils.save_and_load import load_peft_weights

    with loading("The adapter", adapter, "Check that it was trained on this base model."):
        adapted = PeftModel.from_pretrained(model, adapter, **options)
        stored = load_peft_weights(adapter, device="cpu")
        wanted = get_peft_model_state_dict(adapted, save_embedding_layers=False)
        _check_weights(wanted.keys() ^ stored.keys(), stored)
        return adapted


def _check_weights(misfits: Collection[str], weights: Mapping[str, torch.Tensor]) -> None:
    """Checks that weights have the right names and that all numbers are finite.

    Raises:
        ValueError: they do not.
    """
    faults = misfits or [name for name, tensor in weights.items() if not tensor.float().sum().isfinite()]
    if faults:
        raise ValueError(f"{len(faults)} of its weights are missing, unknown or not finite, such as {min(faults)}")


class TransformersModel(LanguageModel):
    """A local chat model.

    Attributes:
        model: a causal language model, with or without a LoRA adapter.
        chat: writes prompts and reads completions.
        max_new_tokens: maximum number of tokens per completion.
        temperature: 0 is greedy; above 0, tokens are sampled with ``top_p`` and torch's global generator.
        batch_size: maximum number of rows per batch; by default 32 on a CPU and 256 on a GPU.
        seed: sampling seed of every call; ``None`` uses the current state of torch's global generator.
        forbidden: constraint on decoding (:class:`~acqo_rl.language_models.guided.GuidedDecoding`), or ``None``.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_new_tokens: int = 64,
        temperature: float = 0.0,
        top_p: float = 1.0,
        batch_size: int | None = None,
        seed: int | None = None,
        regex: str | None = None,
    ) -> None:
        self.model = model
        self.chat = Chat(tokenizer, model.generation_config)
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self._turn = threading.Lock()
        self.top_p = top_p
        self.batch_size = batch_size or (32 if model.device.type == "cpu" else 256)
        self.seed = seed
        self._guides: dict[str, GuidedDecoding] = {}
        self.forbidden = self._guide(regex)

    @classmethod
    def from_pretrained(cls, name: str, **settings: Any) -> TransformersModel:
        """Loads a model from a Hub id, a folder or an ``embedded:`` name; an adapter is merged into its base for speed.

        Remote code is never run and pickles are never read.

        Raises:
            ConfigError: the model does not exist or cannot be loaded.
        """
        base, adapter = base_model_of(name)
        device = default_device()
        tokenizer = load_tokenizer(name)
        model = load_base(base, native_dtype(device))
        if adapter is not None:
            model = with_adapter(model, adapter).merge_and_unload()
        return cls(model.to(device).eval(), tokenizer, **settings)

    def with_sampling(self, temperature: float | None, max_new_tokens: int | None) -> TransformersModel:
        """See the role; weights and lock are shared, so calls do not overlap."""
        other = copy.copy(self)
        other.temperature = self.temperature if temperature is None else temperature
        other.max_new_tokens = max_new_tokens or self.max_new_tokens
        return other

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order.

        Args:
            conversations: the prompts.
            schema: JSON schema that guides the replies, instead of the model's own constraint.
        """
        import torch

        from acqo_rl.language_models.decoding import Decoding, complete

        prompts = [self.chat.prompt_ids(conversation) for conversation in conversations]
        decoding = Decoding(
            ends=self.chat.ends,
            pad=self.chat.tokenizer.pad_token_id,
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            batch_size=self.batch_size,
            forbidden=self._guide(schema) or self.forbidden,
        )
        with self._turn, torch.random.fork_rng(enabled=self.seed is not None):
            if self.seed is not None:
                torch.manual_seed(self.seed)
            completions = complete(self.model, prompts, decoding)
        return list(map(self.chat.completion, completions))

    def _guide(self, form: str | Schema | None) -> GuidedDecoding | None:
        """The constraint of an expression or a schema, compiled once; ``None`` if the model cannot be guided."""
        tokenizer = self.chat.tokenizer
        if form is None or not GuidedDecoding.supports(tokenizer):
            return None
        size = self.model.config.get_text_config().vocab_size
        return self._guides.setdefault(json.dumps(form), GuidedDecoding(tokenizer, self.chat.ends, form, size))


def load_tokenizer(name: str) -> Any:
    """Loads the tokenizer of a model, with padding on the left.

    An adapter without a tokenizer uses that of its base model.

    Raises:
        ConfigError: the model does not exist, or it has no tokenizer or no chat template.
    """
    from transformers import AutoTokenizer

    base, adapter = base_model_of(name)
    if adapter and file_of(adapter, "tokenizer_config.json", required=False):
        base = adapter
    remedy = "Give a model with a tokenizer in the same folder, such as a run's model/ folder."
    with loading("The tokenizer of", base, remedy):
        tokenizer = AutoTokenizer.from_pretrained(resolve(base), padding_side="left", trust_remote_code=False)
    prepare_template(tokenizer, name)
    tokenizer.clean_up_tokenization_spaces = False
    return tokenizer
