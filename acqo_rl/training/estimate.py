"""Estimates of the memory and time that a recipe needs.

Formulas, for a model with N parameters (1 GB = 1e9 bytes):

- Full fine-tuning: 16 N bytes (float32 weights, gradients and Adam's two moments). With LoRA: 2 N bytes for the frozen
  weights in bfloat16, and 16 bytes per parameter of the adapter. ZeRO-2 divides gradients and moments by the number of
  processes; FSDP2 divides everything.
- Activations: 34 x hidden x layers bytes per token (Korthikanti et al. 2022, Eq. 2, without attention scores, which are
  not stored). With checkpointing: 2 x hidden x layers, plus one layer. Logits: 8 bytes x vocabulary per token of a
  completion.
- Index: codes, links and lists; see :func:`acqo_rl.retrieval.faiss_index.estimate_bytes`. Each process has a copy in
  main memory; with ``index_device`` gpu, on its GPU; with shards, the copies are divided over the GPUs. FAISS
  reserves 1.5 GB more.
- Training step: 6 N operations per token (8 N with checkpointing), and 2 N for the log-probabilities before it, at 35 %
  of the peak.
- Generation: the prompt of a group is computed once. For each further token, the time is the maximum of reading the
  weights (2 N bytes at 70 % of the memory bandwidth) and computing the batch (2 N operations per token at 35 % of the
  peak).

The searches of the reward, the warm start and the difficulty are not included; with a GPU or HNSW index they take
little time. Stage II is estimated with all queries, although its band keeps fewer. Models with less than 1 billion
parameters take longer than estimated, because Python becomes the bottleneck.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acqo_rl.errors import ConfigError

MEAN_COMPLETION = 28
"""Mean number of tokens that the paper's policy writes."""
FAISS_RESERVES = 1.5
"""GB that FAISS reserves on each GPU for its calculations."""
MEAN_PROMPT = 60
"""Tokens of the instructions, the template and a query without conversation."""


@dataclass(frozen=True)
class Shape:
    """The dimensions of a language model; ``feed_forward`` is the size of the feed-forward layer."""

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
    """A GPU: bfloat16 operations per second, memory bandwidth in bytes per second, and memory in GB."""

    name: str
    peak: float
    bandwidth: float
    gigabytes: float


H100 = Card("H100", 989e12, 3.35e12, 80)
H20 = Card("H20", 148e12, 4.0e12, 96)
_OF_PEAK, _OF_BANDWIDTH = 0.35, 0.7


@dataclass(frozen=True)
class Stage:
    """One stage of GRPO.

    Attributes:
        queries: number of training queries.
        epochs: passes over the queries.
        rollouts: completions per query.
        per_process: completions per forward pass and process.
        per_step: completions per optimizer step, over all processes.
        steps: number of optimizer steps; if not 0, replaces ``epochs``.
    """

    queries: int
    epochs: float
    rollouts: int
    per_process: int
    per_step: int
    steps: int = 0

    @property
    def optimizer_steps(self) -> int:
        """Number of optimizer steps."""
        return self.steps or round(self.queries * self.epochs * self.rollouts / self.per_step)

    @property
    def completions(self) -> int:
        """Total number of completions."""
        return self.optimizer_steps * self.per_step


@dataclass(frozen=True)
class Memory:
    """Memory of one process, in GB.

    Attributes:
        model: weights, gradients and optimizer state.
        activations: activations of a forward pass, including logits.
        index: index on the GPU; 0 if it is on the CPU.
    """

    model: float
    activations: float
    index: float = 0.0

    def on(self, card: Card, vllm_share: float) -> float:
        """Total GB on a card, including the share that vLLM reserves."""
        return self.model + self.activations + self.index + vllm_share * card.gigabytes


def shape_of(model: str) -> Shape:
    """Reads the shape of a model from its folder, or looks up its name.

    Raises:
        ConfigError: the folder has no config and the name is unknown.
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
        f"The size of {model!r} is unknown; give a folder with its config.json (known names: {', '.join(_KNOWN)})."
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
    """Memory of one process.

    Args:
        shape: shape of the model.
        stage: gives the completions per forward pass.
        prompt: tokens of the longest prompt.
        completion: tokens of the longest completion.
        lora_rank: rank of the adapter; 0 trains all weights.
        checkpointing: gradient checkpointing.
        processes: number of processes.
        sharding: ``fsdp2``, ``zero2`` or empty.
    """
    trained = shape.parameters
    frozen = 0.0
    if lora_rank:  # adapters of four attention matrices and three feed-forward matrices
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
    """Memory of a FAISS index on the CPU, in GB.

    Raises:
        ConfigError: FAISS does not know the factory string.
    """
    from acqo_rl.retrieval.faiss_index import estimate_bytes

    return estimate_bytes(dimension, factory, passages) / 1e9


def gpu_index_gigabytes(passages: int, dimension: int, factory: str, *, float16: bool = False) -> float:
    """Memory of a FAISS index on the GPU, in GB, without what FAISS reserves for its calculations.

    Raises:
        ConfigError: FAISS does not know the factory string, or does not support the index type on GPUs.
    """
    from acqo_rl.retrieval.faiss_index import estimate_bytes, make_index
    from acqo_rl.retrieval.gpu import gpu_bytes

    size = estimate_bytes(dimension, factory, passages)
    return gpu_bytes(make_index(dimension, factory), size, float16=float16) / 1e9


def bm25_gigabytes(passages: int) -> float:
    """Memory of a BM25 index, in GB: 8 bytes per distinct word of a passage, with about 60 such words per passage."""
    return 8 * 60 * passages / 1e9


def in_each_process(gigabytes: float, processes: int) -> str:
    """The memory of an index of which each process has a copy, in words."""
    if processes == 1:
        return f"{gigabytes:.1f} GB in memory"
    return f"{gigabytes:.1f} GB in memory for each process, {processes * gigabytes:.1f} GB for all {processes}"


def hours_of(
    shape: Shape, stage: Stage, prompt: float, completion: float, card: Card, cards: int, *, checkpointing: bool
) -> float:
    """Hours of a stage, without searches.

    Args:
        shape: shape of the model.
        stage: gives the number of completions.
        prompt: mean tokens per prompt.
        completion: mean tokens per completion.
        card: type of GPU.
        cards: number of GPUs.
        checkpointing: gradient checkpointing.
    """
    compute, memory = card.peak * _OF_PEAK, card.bandwidth * _OF_BANDWIDTH
    n, count = shape.parameters, stage.completions / cards
    training = (10 if checkpointing else 8) * n * count * (prompt + completion) / compute
    prefill = 2 * n * count / stage.rollouts * prompt / compute
    at_once = stage.per_step / cards
    decoding = stage.optimizer_steps * completion * max(2 * n / memory, 2 * n * at_once / compute)
    return (training + prefill + decoding) / 3600


def gpu_hours_of_the_paper() -> float:
    """The estimate for a run that took 12.1 GPU-hours according to the paper: HotpotQA, dense, 8 x H20.

    The paper does not give the number of queries per stage. Here both stages use half of the 85,000 queries, for 2 and
    4 epochs.
    """
    stages = [Stage(42_500, epochs, 8, 64, 512) for epochs in (2, 4)]
    shape = _KNOWN["Qwen2.5-3B"]
    return 8 * sum(hours_of(shape, stage, 80, MEAN_COMPLETION, H20, 8, checkpointing=False) for stage in stages)


def dimension_of(encoder: str) -> int:
    """Dimension of an encoder's vectors, guessed from the size in its name; 768 by default."""
    sizes = {"minilm": 384, "small": 384, "large": 1024, "xl": 4096}
    return next((size for name, size in sizes.items() if name in encoder.lower()), 768)
