r"""Time of a policy's short completion versus other ways to rewrite with a model of the same size.

    python benchmarks/rewriting.py
    python benchmarks/rewriting.py --policy openvino:trained:demo --data BEIR_DIR --queries 64

- *reasoning*: the model of the policy is prompted to reason, and forced to write exactly --reasoning_tokens. ACQO
  claims to be 9.1 times as fast as ConvSearch-R1, whose rewrites take 354 tokens of reasoning on average.
- *LangChain*: MultiQueryRetriever with its own prompt, and the base model of the package in float16 on a llama.cpp
  server, which writes at most 256 tokens per query; the table counts those of the queries in them. Needs
  langchain-classic, langchain-openai and xllamacpp.

The benchmark compares costs, not quality. All get the same queries, LangChain without their conversations, one at a
time and --batch_size at once. They alternate, so that a busy machine slows all equally. Seconds are CPU time of this
process, which includes the llama.cpp server; on a GPU, they are wall time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gguf_policy import write_gguf

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
    """Prints a table with one row per system and batch size."""
    import torch

    from acqo_rl.reformulation.policy import Policy

    check_ranges(config, dict.fromkeys(("queries", "batch_size", "reasoning_tokens", "repetitions"), (1, FINITE)))
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    policy = Policy.from_pretrained(config.policy, batch_size=config.batch_size)
    queries = queries_of(config)
    policy.reformulate(queries[:1])  # the first call of a process is slow
    systems: dict[str, Callable[[int], int]] = {
        "policy": lambda size: write_short(policy, queries, size),
        "reasoning": lambda size: reason(policy, queries, size, config.reasoning_tokens),
    }
    with TemporaryDirectory() as folder:
        try:
            systems["LangChain"] = langchain(policy, queries, Path(folder))
        except ImportError as error:
            print(f"LangChain is not measured: {error.name} is not installed.\n")
        print(
            "| system | at once | tokens per query | seconds per query | ratio to the policy |\n|---|---|---|---|---|"
        )
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
    from acqo_rl.language_models.decoder import Decoding
    from acqo_rl.language_models.decoding import complete

    model: Any = policy.model
    prompts = []
    for query in queries:
        asked = "\n".join([*map(str, query.history), query.text])
        talk = [{"role": "system", "content": _REASON}, {"role": "user", "content": asked}]
        read = model.tokenizer.apply_chat_template(talk, add_generation_prompt=True, tokenize=True, return_dict=True)
        prompts.append(read["input_ids"])
    pad = model.tokenizer.pad_token_id
    written = complete(model.model, prompts, Decoding(ends=(), pad=pad, max_new_tokens=tokens, batch_size=size))
    return sum(map(len, written))


def langchain(policy: Policy, queries: list[Query], folder: Path) -> Callable[[int], int]:
    """Starts a llama.cpp server for LangChain's retriever; the function rewrites the queries and counts the tokens."""
    import torch
    import xllamacpp
    from langchain_classic.retrievers.multi_query import MultiQueryRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_openai import ChatOpenAI

    class Retriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            written.append(query)
            return []

    write_gguf("embedded:smollm2", folder / "base.gguf", "F16")
    params = xllamacpp.CommonParams()
    params.model.path = str(folder / "base.gguf")
    params.n_parallel, params.n_ctx, params.port = 16, 16 * 1024, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = torch.get_num_threads()
    server = xllamacpp.Server(params)
    model = ChatOpenAI(
        base_url=f"{server.listening_address}/v1", api_key="unused", model="base", temperature=0, max_tokens=256
    )
    retriever = MultiQueryRetriever.from_llm(Retriever(), model)
    written: list[str] = []
    count: Any = policy.model

    def ask(size: int) -> int:
        written.clear()
        with ThreadPoolExecutor(size) as threads:
            list(threads.map(retriever.invoke, (query.text for query in queries)))
        assert server, "the server must live as long as this function"
        return sum(map(count.count_tokens, written))

    return ask


if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])
