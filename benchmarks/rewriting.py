r"""Time of a policy's short completion versus other ways to rewrite with a model of the same size.

    python benchmarks/rewriting.py
    python benchmarks/rewriting.py --data BEIR_DIR --queries 64

- *reasoning*: the model of the policy is prompted to reason, and forced to write exactly --reasoning_tokens. ACQO
  claims to be 9.1 times as fast as ConvSearch-R1, whose rewrites take 354 tokens of reasoning on average.

The benchmark compares costs, not quality. Both get the same queries, one at a time and --batch_size at once. They
alternate, so that a busy machine slows both equally. Seconds are CPU time of this process; on a GPU, wall time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command
from acqo_rl.types import Positive

if TYPE_CHECKING:
    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.types import Query

_REASON = (
    "Think step by step about what the user wants to find, which words are missing and what the question refers to. "
    "Write down your reasoning, then the rewritten search query."
)


@dataclass
class BenchmarkConfig:
    """Settings of the benchmark."""

    policy: str = field(default="trained:demo", metadata={"help": "Folder or Hub id of a policy, or trained:NAME."})
    data: str | None = field(
        default=None, metadata={"help": "BEIR folder with the queries; by default the embedded data set."}
    )
    queries: Positive = field(default=16, metadata={"help": "Number of queries."})
    batch_size: Positive = field(default=16, metadata={"help": "Batch size of the batched case."})
    reasoning_tokens: Positive = field(default=354, metadata={"help": "Tokens that the reasoning rewriter writes."})
    repetitions: Positive = field(default=1, metadata={"help": "Repetitions of each case."})


def main(config: BenchmarkConfig) -> None:
    """Prints a table with one row per system and batch size."""
    import torch

    from acqo_rl.reformulation.policy import Policy

    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    policy = Policy.from_pretrained(config.policy, batch_size=config.batch_size)
    queries = queries_of(config)
    policy.reformulate(queries[:1])  # the first call of a process is slow
    systems: dict[str, Callable[[int], int]] = {
        "policy": lambda size: write_short(policy, queries, size),
        "reasoning": lambda size: reason(policy, queries, size, config.reasoning_tokens),
    }
    print("| system | at once | tokens per query | seconds per query | ratio to the policy |\n|---|---|---|---|---|")
    for size in dict.fromkeys((1, config.batch_size)):
        seconds: dict[str, float] = dict.fromkeys(systems, 0.0)
        tokens: dict[str, int] = {}
        for _ in range(config.repetitions):
            for name, write in systems.items():
                begin = clock()
                tokens[name] = write(size)
                seconds[name] += (clock() - begin) / len(queries) / config.repetitions
        for name in systems:
            ratio = seconds[name] / seconds["policy"]
            print(f"| {name} | {size} | {tokens[name] / len(queries):.1f} | {seconds[name]:.3f} | {ratio:.1f} |")


def queries_of(config: BenchmarkConfig) -> list[Query]:
    """The first dev queries, without feedback."""
    from acqo_rl.data.beir import read_queries
    from acqo_rl.data.importer import write_embedded

    if config.data is not None:
        return read_queries(config.data, "dev")[: config.queries]
    with TemporaryDirectory() as folder:
        write_embedded(Path(folder, "data"))
        return read_queries(Path(folder, "data"), "dev")[: config.queries]


def write_short(policy: Policy, queries: list[Query], size: int) -> int:
    """The number of tokens that the policy writes for the queries."""
    batches = [queries[start : start + size] for start in range(0, len(queries), size)]
    return sum(answer.tokens for batch in batches for answer in policy.reformulate(batch))


def reason(policy: Policy, queries: list[Query], size: int, tokens: int) -> int:
    """The number of tokens that the same model writes when prompted to reason; end tokens are ignored."""
    from acqo_rl.language_models.decoding import Decoding, complete

    model: Any = policy.model
    prompts = []
    for query in queries:
        asked = "\n".join([*map(str, query.history), query.text])
        talk = [{"role": "system", "content": _REASON}, {"role": "user", "content": asked}]
        prompts.append(model.chat.prompt_ids(talk))
    pad = model.chat.tokenizer.pad_token_id
    written = complete(model.model, prompts, Decoding(ends=(), pad=pad, max_new_tokens=tokens, batch_size=size))
    return sum(map(len, written))


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
