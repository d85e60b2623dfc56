"""Language models that run in this process through transformers."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.chat import end_tokens, opens_thoughts, prepare_template
from acqo_rl.language_models.words_once import WordsOnce
from acqo_rl.types import Completion, Conversation

if TYPE_CHECKING:
    import torch


def native_dtype(device: str = "cpu") -> torch.dtype:
    """bfloat16 where the device is fast in it, else float32.

    On a CPU that takes AMX: with AVX-512 alone, this project's models were half as fast in bfloat16 as in float32.
    """
    import torch

    if device.startswith("cuda"):
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if torch.cpu._is_amx_tile_supported() else torch.float32


def default_device() -> str:
    """``cuda`` where there is a GPU, else ``cpu``."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def is_missing_folder(name: str) -> bool:
    """Whether a name can only be a folder, and there is none: the Hub need not be asked.

    A Hub id has at most one slash, no leading dot or tilde, and does not lie in a folder that exists here.
    """
    path = Path(name).expanduser()
    looks_local = name.startswith((".", "/", "~")) or name.count("/") > 1 or ("/" in name and path.parent.is_dir())
    return looks_local and not path.is_dir()


def base_model_of(name: str) -> tuple[str, str | None]:
    """The base model's name and, where ``name`` is a LoRA adapter, the adapter's folder or Hub id.

    Raises:
        ConfigError: there is no such model, or it is an adapter with pickled weights.
    """
    import json

    from transformers.utils import cached_file

    from acqo_rl.embedded import resolve

    path = resolve(name)
    if is_missing_folder(path):
        raise ConfigError(f"There is no model {name!r}: no such folder. Give a folder that exists, or a Hub id.")
    try:
        file = cached_file(path, "adapter_config.json", _raise_exceptions_for_missing_entries=False)
        if file is None:
            return name, None
        weights = cached_file(path, "adapter_model.safetensors", _raise_exceptions_for_missing_entries=False)
    except OSError as error:
        raise ConfigError(
            f"There is no model {name!r}: it is no folder here, and the Hub does not give it ({error})."
        ) from error
    if weights is None:
        raise ConfigError(
            f"{name!r} holds an adapter without adapter_model.safetensors; pickled weights are never read."
            f" Save the adapter as safetensors."
        )
    return json.loads(Path(file).read_text(encoding="utf-8"))["base_model_name_or_path"], path


def load_base(base: str, dtype: torch.dtype) -> Any:
    """A causal language model as it was published, without an adapter.

    Raises:
        ConfigError: it cannot be loaded without running remote code or reading pickles.
    """
    from transformers import AutoModelForCausalLM

    from acqo_rl.embedded import resolve
    from acqo_rl.language_models.attention import read_groups_in_place

    try:
        model = AutoModelForCausalLM.from_pretrained(
            resolve(base), dtype=dtype, use_safetensors=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The model {base!r} cannot be loaded: {error} Wanted are safetensors weights of a causal language"
            f" model that transformers knows; code and pickles of a model are never run."
        ) from error
    read_groups_in_place(model)
    return model


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Torch's global generator begins at the seed, and is afterwards as it was before."""
    import torch

    if seed is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


class TransformersModel:
    """A chat model with its tokenizer.

    Attributes:
        model: a causal language model, with or without a LoRA adapter.
        tokenizer: its tokenizer, with a chat template.
        max_new_tokens: limit of each completion.
        temperature: 0 is greedy; above, samples with ``top_p`` from torch's global generator.
        batch_size: completions at once; by default 32 on a CPU and 256 on a GPU.
        seed: of the samples of every call; ``None`` leaves torch's global generator as it stands.
        forbidden: guides decoding; see :class:`acqo_rl.language_models.words_once.WordsOnce`.
        ends: ids of the tokens that end a completion.
        starts_thinking: the chat template opens thoughts, so that completions only close them.
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
        words_once: bool = False,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self._turn = threading.Lock()
        self.top_p = top_p
        self.batch_size = batch_size or (32 if model.device.type == "cpu" else 256)
        self.seed = seed
        self.forbidden = WordsOnce(tokenizer) if words_once else None
        self.ends = end_tokens(tokenizer, model.generation_config)
        self.starts_thinking = opens_thoughts(tokenizer)

    @classmethod
    def from_pretrained(cls, name: str, **settings: Any) -> TransformersModel:
        """Loads a Hub id, a folder or an embedded model; an adapter is merged into its base for speed.

        Never runs remote code, never reads pickles.

        Raises:
            ConfigError: there is no such model, or it cannot be loaded without doing so.
        """
        base, adapter = base_model_of(name)
        device = default_device()
        tokenizer = cls.load_tokenizer(name)
        model = load_base(base, native_dtype(device))
        if adapter is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
        return cls(model.to(device).eval(), tokenizer, **settings)

    @staticmethod
    def load_tokenizer(name: str) -> Any:
        """The tokenizer of a model, padding on the left with a padding token of its own.

        An adapter that has none reads with that of its base.

        Raises:
            ConfigError: there is no such model, or none that comes with a tokenizer and a chat template.
        """
        from transformers import AutoTokenizer
        from transformers.utils import cached_file

        from acqo_rl.embedded import resolve

        base, adapter = base_model_of(name)
        if adapter and cached_file(adapter, "tokenizer_config.json", _raise_exceptions_for_missing_entries=False):
            base = adapter
        try:
            tokenizer = AutoTokenizer.from_pretrained(resolve(base), padding_side="left", trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"The tokenizer of {base!r} cannot be loaded: {error} Wanted is a model with its tokenizer beside it,"
                f" such as a run's model/ folder."
            ) from error
        prepare_template(tokenizer, name)
        tokenizer.clean_up_tokenization_spaces = False
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def at_temperature(self, temperature: float) -> TransformersModel:
        """The same weights at another temperature; one of the two writes at a time."""
        other = copy.copy(self)
        other.temperature = temperature
        return other

    def generate(self, conversations: Sequence[Conversation]) -> list[Completion]:
        """One completion a conversation, position for position."""
        from acqo_rl.language_models.decoding import complete

        prompts = [
            self.tokenizer.apply_chat_template(c, add_generation_prompt=True, tokenize=True, return_dict=True)[
                "input_ids"
            ]
            for c in conversations
        ]
        with self._turn, _seeded(self.seed):
            completions = complete(
                self.model,
                prompts,
                ends=self.ends,
                pad=self.tokenizer.pad_token_id,
                max_new_tokens=self.max_new_tokens,
                temperature=self.temperature,
                top_p=self.top_p,
                batch_size=self.batch_size,
                forbidden=self.forbidden,
            )
        return [self._completion(ids) for ids in completions]

    def _completion(self, ids: list[int]) -> Completion:
        from acqo_rl.language_models.decoding import first_end

        length = first_end(ids, self.ends)
        finished = length < len(ids)
        ids = ids[:length]
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        return Completion(text, tokens=len(ids) + finished, finished=finished)
