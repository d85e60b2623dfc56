"""What a recipe needs, estimated before anything starts: memory, steps, tokens, hours.

Formulas, with N parameters and bytes in GB = 1e9:

- full fine-tuning: 16 N bytes (float32 weights, gradients and Adam's two moments); with LoRA: 2 N bytes for the frozen
  weights in bfloat16 and 16 bytes for each parameter of the adapter. ZeRO-2 divides gradients and moments by the number
  of processes, FSDP2 all of it.
- activations: 34 x hidden x layers bytes a token (Korthikanti et al. 2022, Eq. 2, without attention scores, which are
  not stored), with checkpointing 2 x hidden x layers plus one layer; logits: 8 bytes x vocabulary for each token of a
  completion.
- index: its codes, links and lists; see :func:`acqo_rl.retrieval.faiss_index.estimate_bytes`.
- a step of training: 6 N operations a token, 8 N with checkpointing, and 2 N for the log-probabilities before it, at
  35 % of the peak. Generation: the prompt of a group once, then for each token either the weights are read (2 N bytes
  at 70 % of the memory's bandwidth) or the batch is computed (2 N operations a token at 35 % of the peak), whichever is
  slower.
- the reward's searches, the warm start and the difficulty are left out: with a GPU or HNSW index they are a small part.
  Stage II is given all queries, of which its band keeps fewer.

Models under 1 billion parameters wait for Python, and take longer than estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acqo_rl.errors import ConfigError

MEAN_COMPLETION = 28
"""Tokens that the paper's policy writes on average."""
MEAN_PROMPT = 60
"""Tokens of instructions, template and a question without conversation."""


@dataclass(frozen=True)
class Shape:
    """Of a language model: parameters, layers, hidden size, size of the feed-forward layer, vocabulary."""

    parameters: float
    layers: int
    hidden: int
    feed_forward: int
    vocabulary: int


_KNOWN = {
    "Qwen2.5-0.5B": Shape(0.494e9, 24, 896, 4864, 151_936),
    "Qwen2.5-1.5B": Shape(1.54e9, 28, 1536, 8960, 151_936),
    "Qwen2.5-3B": Shape(3.09e9, 36, 2048, 11_008, 151_936),
    "Qwen2.5-7B": Shape(7.62e9, 28, 3584, 18_944, 152_064),
    "smollm2": Shape(0.135e9, 30, 576, 1536, 49_152),
}


@dataclass(frozen=True)
class Card:
    """A GPU: bfloat16 operations a second, bytes a second of its memory, and its GB."""

    name: str
    peak: float
    bandwidth: float
    gigabytes: float


H100 = Card("H100", 989e12, 3.35e12, 80)
H20 = Card("H20", 148e12, 4.0e12, 96)
_OF_PEAK, _OF_BANDWIDTH = 0.35, 0.7


@dataclass(frozen=True)
class Stage:
    """Of GRPO.

    Attributes:
        queries: that it learns from.
        epochs: passes over them.
        rollouts: completions a query.
        per_process: completions of a forward pass in one process.
        per_step: completions of an optimizer step in all processes.
        steps: of the optimizer, where they are given in place of epochs.
    """

    queries: int
    epochs: float
    rollouts: int
    per_process: int
    per_step: int
    steps: int = 0

    @property
    def optimizer_steps(self) -> int:
        """Steps of the optimizer."""
        return self.steps or round(self.queries * self.epochs * self.rollouts / self.per_step)

    @property
    def completions(self) -> int:
        """Completions in all."""
        return self.optimizer_steps * self.per_step


@dataclass(frozen=True)
class Memory:
    """GB of one process.

    Attributes:
        model: weights, gradients and optimizer.
        activations: of a forward pass, logits included.
    """

    model: float
    activations: float

    def on(self, card: Card, vllm_share: float) -> float:
        """GB in all, with the share of the card that vLLM takes."""
        return self.model + self.activations + vllm_share * card.gigabytes


def shape_of(model: str) -> Shape:
    """The shape of a model, from its folder or from what is known of its name.

    Raises:
        ConfigError: neither tells it.
    """
    if Path(model, "config.json").is_file():
        import json

        config = json.loads(Path(model, "config.json").read_text(encoding="utf-8"))
        layers, hidden, wide, words = (
            config[key] for key in ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
        )
        head = config.get("head_dim") or hidden // config["num_attention_heads"]
        queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
        embeddings = words * hidden * (1 if config.get("tie_word_embeddings") else 2)
        parameters = layers * (2 * hidden * (queries + keys) + 3 * hidden * wide) + embeddings
        return Shape(float(parameters), layers, hidden, wide, words)
    for name, shape in _KNOWN.items():
        if name.lower() in model.lower():
            return shape
    raise ConfigError(
        f"The size of {model!r} is not known here; give a folder with its config.json (known: {', '.join(_KNOWN)})."
    )


def memory_of(
    shape: Shape,
    stage: Stage,
    prompt: int,
    completion: int,
    *,
    lora_rank: int,
    checkpointing: bool,
    processes: int = 1,
    sharding: str = "",
) -> Memory:
    """GB of one process.

    Args:
        shape: of the model.
        stage: its completions of a forward pass.
        prompt: tokens of the longest prompt.
        completion: tokens of the longest completion.
        lora_rank: 0 trains every weight.
        checkpointing: of gradients.
        processes: that share what is sharded.
        sharding: ``fsdp2``, ``zero2`` or none.
    """
    trained = shape.parameters
    frozen = 0.0
    if lora_rank:  # four matrices of attention and three of the feed-forward layer
        trained = lora_rank * shape.layers * (8 * shape.hidden + 3 * (shape.hidden + shape.feed_forward))
        frozen = 2 * shape.parameters
    weights, rest = 4 * trained + frozen, 12 * trained
    model = {"": weights + rest, "zero2": weights + rest / processes, "fsdp2": (weights + rest) / processes}[sharding]
    tokens = stage.per_process * (prompt + completion)
    per_token = 34 * shape.hidden * (1 if checkpointing else shape.layers)
    kept = 2 * shape.hidden * shape.layers if checkpointing else 0
    logits = stage.per_process * completion * 8 * shape.vocabulary
    return Memory(model / 1e9, (tokens * (per_token + kept) + logits) / 1e9)


def index_gigabytes(passages: int, dimension: int, factory: str) -> float:
    """GB of a FAISS index.

    Raises:
        ConfigError: FAISS does not know the factory string.
    """
    from acqo_rl.retrieval.faiss_index import estimate_bytes

    return estimate_bytes(dimension, factory, passages) / 1e9


def bm25_gigabytes(passages: int) -> float:
    """GB of a BM25 index: a score and a number for each of a passage's distinct words, of which it has about 60."""
    return 8 * 60 * passages / 1e9


def hours_of(
    shape: Shape, stage: Stage, prompt: float, completion: float, card: Card, cards: int, *, checkpointing: bool
) -> float:
    """Hours of a stage, without its searches.

    Args:
        shape: of the model.
        stage: its completions.
        prompt: tokens of a prompt on average.
        completion: tokens of a completion on average.
        card: the kind of GPU.
        cards: how many.
        checkpointing: of gradients.
    """
    compute, memory = card.peak * _OF_PEAK, card.bandwidth * _OF_BANDWIDTH
    n, count = shape.parameters, stage.completions / cards
    training = (10 if checkpointing else 8) * n * count * (prompt + completion) / compute
    prefill = 2 * n * count / stage.rollouts * prompt / compute
    at_once = stage.per_step / cards
    decoding = stage.optimizer_steps * completion * max(2 * n / memory, 2 * n * at_once / compute)
    return (training + prefill + decoding) / 3600


def gpu_hours_of_the_paper() -> float:
    """The estimate of what the paper reports as 12.1 GPU-hours: HotpotQA, dense, 8 x H20.

    It does not say how many queries each stage saw: here both see half of the 85,000, for 2 and 4 epochs.
    """
    stages = [Stage(42_500, epochs, 8, 64, 512) for epochs in (2, 4)]
    shape = _KNOWN["Qwen2.5-3B"]
    return 8 * sum(hours_of(shape, stage, 80, MEAN_COMPLETION, H20, 8, checkpointing=False) for stage in stages)


def dimension_of(encoder: str) -> int:
    """Length of an encoder's vectors, by the size in its name; 768 where it has none."""
    sizes = {"minilm": 384, "small": 384, "large": 1024, "xl": 4096}
    return next((size for name, size in sizes.items() if name in encoder.lower()), 768)
