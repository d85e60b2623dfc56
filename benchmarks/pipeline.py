r"""Overhead of a search besides model and retriever: this package, LangChain, LlamaIndex and plain asyncio.gather.

    python benchmarks/pipeline.py
    python benchmarks/pipeline.py --queries 500 --retriever_ms 0 20 100

Each query has four sub-queries with ten documents each. The model returns at once, and the retriever takes 0 or 20 ms
per list. The cases alternate within one run, so that other load on the machine affects them equally; on a busy machine,
compare the CPU times (of all threads). Every query is new, so that no cache helps. LangChain and LlamaIndex are
included if they are installed:

    pip install langchain-classic llama-index-core
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from acqo_rl.cli import command
from acqo_rl.roles import Reformulator, Retriever

LISTS, DOCUMENTS = 5, 10


@dataclass
class BenchmarkConfig:
    """Settings of the benchmark."""

    queries: int = field(default=200, metadata={"help": "Queries per case."})
    retriever_ms: list[int] = field(default_factory=lambda: [0, 20], metadata={"help": "Milliseconds per list."})


def main(config: BenchmarkConfig) -> None:
    """Prints one line per case: milliseconds per query without the retriever, CPU time, and the ratio to ours."""
    print("| retriever ms | case | median ms above it | fastest | median CPU ms | ratio of CPU to ours |")
    print("| -----------: | ---- | -----------------: | ------: | ------------: | -------------------: |")
    for wait in config.retriever_ms:
        runs = cases(wait / 1000)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for number in range(config.queries + 2):
            for name, run in runs.items():
                begin, cpu_begin = time.perf_counter(), time.process_time()
                run(f"which company acquired the firm that developed model {number}")
                times[name].append((time.perf_counter() - begin, time.process_time() - cpu_begin))
        ours = None
        for name, spent in times.items():
            passed, cpu = ([1000 * seconds for seconds in column] for column in zip(*spent[2:], strict=True))
            ours = ours or statistics.median(cpu)  # the first two queries warm up
            print(
                f"| {wait} | {name} | {statistics.median(passed) - wait:.3f} | {min(passed) - wait:.3f} "
                f"| {statistics.median(cpu):.3f} | {statistics.median(cpu) / ours:.2f} |",
                flush=True,
            )


def cases(wait: float) -> dict[str, Callable[[str], object]]:
    """Case -> a function that searches one query; ours is the first."""
    from acqo_rl.fusion import RankScoreFusion
    from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts

    together = AdaptiveSearcher(FourVariants(), Instant(wait), RankScoreFusion())
    apart = AdaptiveSearcher(FourVariants(), Instant(wait), RankScoreFusion(), timeouts=Timeouts(sub_query=10))
    loop = asyncio.new_event_loop()
    found: dict[str, Callable[[str], object]] = {
        "ours, one call a retriever": together.search,
        "ours, a call and a time-out a sub-query": apart.search,
        "asyncio.gather, no fusion": lambda text: loop.run_until_complete(gather(text, wait)),
    }
    for name, build in (("LangChain MultiQueryRetriever", langchain), ("LlamaIndex QueryFusionRetriever", llama_index)):
        try:
            ask = build(wait)
        except ImportError as error:
            print(f"| | {name}: not installed ({error.name}) | | | | |")
        else:
            found[name] = lambda text, ask=ask: loop.run_until_complete(ask(text))
    return found


def variants(text: str) -> list[str]:
    """Four sub-queries."""
    return [f"{text} {word}" for word in ("name", "date", "place", "reason")]


def doc_ids(text: str) -> list[str]:
    """Ten documents; some are the same for every text."""
    begin = len(text) % 7
    return [str(begin + 3 * i) for i in range(DOCUMENTS)]


class FourVariants(Reformulator):
    """A reformulator that returns at once."""

    name = "variants"

    def reformulate(self, queries: Sequence[Any]) -> list[Any]:
        """The query and its variants."""
        from acqo_rl.types import Reformulation, SubQuery

        return [
            Reformulation(
                query,
                "decompose",
                (SubQuery(query.text, "original"), *(SubQuery(text, "variant") for text in variants(query.text))),
                self.name,
            )
            for query in queries
        ]


class Instant(Retriever):
    """A retriever that takes the given time per call."""

    name = "instant"

    def __init__(self, wait: float) -> None:
        self.wait = wait

    def search(self, texts: Sequence[str], k: int) -> list[Any]:
        """Ten documents per text."""
        from acqo_rl.types import Ranking

        if self.wait:
            time.sleep(self.wait)
        scores = tuple(1 - rank / 100 for rank in range(DOCUMENTS))
        return [Ranking(tuple(doc_ids(text)), scores, self.name, text) for text in texts]


async def gather(text: str, wait: float) -> list[list[str]]:
    """Only requests all lists concurrently."""

    async def one(sub_query: str) -> list[str]:
        if wait:
            await asyncio.sleep(wait)
        return doc_ids(sub_query)

    return await asyncio.gather(*(one(t) for t in [text, *variants(text)]))


def langchain(wait: float) -> Callable[[str], Any]:
    """LangChain's MultiQueryRetriever with an asynchronous retriever."""
    from langchain_classic.retrievers.multi_query import MultiQueryRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda

    class Retriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            raise NotImplementedError

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            if wait:
                await asyncio.sleep(wait)
            return [Document(page_content=doc_id, id=doc_id) for doc_id in doc_ids(query)]

    chain = RunnableLambda(lambda asked: variants(asked["question"]))
    return MultiQueryRetriever(retriever=Retriever(), llm_chain=chain, include_original=True).ainvoke


def llama_index(wait: float) -> Callable[[str], Any]:
    """LlamaIndex's QueryFusionRetriever with an asynchronous retriever and reciprocal rank fusion."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms.mock import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Retriever(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            raise NotImplementedError

        async def _aretrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            if wait:
                await asyncio.sleep(wait)
            ids = doc_ids(query_bundle.query_str)
            return [NodeWithScore(node=TextNode(id_=i, text=i), score=1 - r / 100) for r, i in enumerate(ids)]

    class Fusion(QueryFusionRetriever):
        def _get_queries(self, original_query: str) -> list[Any]:
            from llama_index.core.schema import QueryBundle

            return [QueryBundle(text) for text in variants(original_query)]

    return Fusion(
        [Retriever()], llm=MockLLM(), num_queries=LISTS, similarity_top_k=DOCUMENTS, mode="reciprocal_rerank"
    ).aretrieve


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
