r"""Time of a policy's short completion versus a rewriter that reasons first, with the same model.

    python benchmarks/rewriting.py
    python benchmarks/rewriting.py --policy outputs/mine/stage2/model --data BEIR_DIR --queries 64

ACQO claims to be 9.1 times as fast as ConvSearch-R1, whose rewrites take 354 tokens of reasoning on average. Here the
policy writes its completions, and the same model is prompted to reason and forced to write exactly --reasoning_tokens.
The benchmark compares the costs of these lengths, not the quality. Both get the same queries, one at a time and in
batches; they alternate, so that a busy machine slows both equally. Seconds are CPU time of this process on a CPU, and
wall time on a GPU.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command
from acqo_rl.ranges import FINITE, check_ranges

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
    queries: int = field(default=16, metadata={"help": "Number of queries."})
    batch_size: int = field(default=16, metadata={"help": "Batch size of the batched case."})
    reasoning_tokens: int = field(default=354, metadata={"help": "Tokens that the reasoning rewriter writes."})
    repetitions: int = field(default=1, metadata={"help": "Repetitions of each case."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(BenchmarkConfig, description=__doc__)


def main(config: BenchmarkConfig) -> None:
    """Prints a table with one row per batch size."""
    import torch

    from acqo_rl.reformulation.policy import Policy

    check_ranges(config, dict.fromkeys(("queries", "batch_size", "reasoning_tokens", "repetitions"), (1, FINITE)))
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    policy = Policy.from_pretrained(config.policy, batch_size=config.batch_size)
    queries = queries_of(config)
    policy.reformulate(queries[:1])  # the first call of a process is slow
    print("| at once | tokens: policy | reasoning | seconds a query: policy | reasoning | ratio |")
    print("|---|---|---|---|---|---|")
    for size in dict.fromkeys((1, config.batch_size)):
        short, long = [], []
        for _ in range(config.repetitions):
            begin = clock()
            tokens = write_short(policy, queries, size)
            middle = clock()
            reason(policy, queries, size, config.reasoning_tokens)
            short.append((middle - begin) / len(queries))
            long.append((clock() - middle) / len(queries))
        written = f"{tokens / len(queries):.1f} | {config.reasoning_tokens}"
        seconds = f"{fmean(short):.3f} | {fmean(long):.3f} | {fmean(long) / fmean(short):.1f}"
        print(f"| {size} | {written} | {seconds} |", flush=True)


def queries_of(config: BenchmarkConfig) -> list[Query]:
    """The first dev queries, without feedback."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from acqo_rl.data.beir import read_queries
    from acqo_rl.data.embedded import write_embedded

    if config.data is not None:
        return read_queries(config.data, "dev")[: config.queries]
    with TemporaryDirectory() as folder:
        write_embedded(Path(folder, "data"), 0)
        return read_queries(Path(folder, "data"), "dev")[: config.queries]


def write_short(policy: Policy, queries: list[Query], size: int) -> int:
    """The number of tokens that the policy writes for the queries."""
    batches = [queries[start : start + size] for start in range(0, len(queries), size)]
    return sum(answer.tokens for batch in batches for answer in policy.reformulate(batch))


def reason(policy: Policy, queries: list[Query], size: int, tokens: int) -> int:
    """The number of tokens that the same model writes when prompted to reason; end tokens are ignored."""
    from acqo_rl.language_models.decoding import complete

    model: Any = policy.model
    prompts = []
    for query in queries:
        asked = "\n".join([*map(str, query.history), query.text])
        talk = [{"role": "system", "content": _REASON}, {"role": "user", "content": asked}]
        read = model.tokenizer.apply_chat_template(talk, add_generation_prompt=True, tokenize=True, return_dict=True)
        prompts.append(read["input_ids"])
    pad = model.tokenizer.pad_token_id
    written = complete(model.model, prompts, ends=(), pad=pad, max_new_tokens=tokens, temperature=0.0, batch_size=size)
    return sum(map(len, written))


if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])
