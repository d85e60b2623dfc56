r"""Throughput and latency of the service: 1, 8 and 32 concurrent clients, with several engines and with batching.

    python benchmarks/service.py --collection embedded=outputs/demo/data,outputs/demo/index \
        --strategy policy=outputs/demo/policy
    python benchmarks/service.py --collection embedded=outputs/demo/data,outputs/demo/index --strategy rules \
        --requests 960
    taskset -c 1 python benchmarks/service.py --collection NAME=DATA,INDEX --strategy policy=trained:four_sets \
        --engines transformers auto --batching on

Each engine and kind of batching is an acqo serve process on this machine: with batching, it combines concurrent
reformulations into one model call, without, it makes separate calls. The processes alternate, so that other load on the
machine affects them equally. Clients and servers share the machine. No result is cached. Every response is compared
with the response of the same process to the same query without concurrency:

    CPU ms      CPU time of the server per response, in milliseconds, which other load on the machine affects less
    MB          memory of the server
    errors      no response, or a status other than 200
    partial     a call failed or was too late, as reported in the response
    mixed up    id, query, searches or documents belong to another request; must be 0
    other       searches or documents differ for other reasons; a model rounds differently in a batch
"""

from __future__ import annotations

import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import machine
import psutil

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import ENGINE_HELP
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.types import Query

if TYPE_CHECKING:
    import httpx

Content = tuple[frozenset[str], tuple[str, ...]]
VERDICTS = ("errors", "partial", "mixed up", "other")
HEADINGS = (
    "engine", "batching", "clients", "answers/s", "CPU ms", "MB", "p50 ms", "p95 ms", "p99 ms", *VERDICTS,
    "requests",
)  # fmt: skip


@dataclass
class BenchmarkConfig(IndexSettings):
    """Settings of the benchmark."""

    collection: str = field(metadata={"help": "NAME=DATA,INDEX, as in acqo serve."})
    split: str = field(default="dev", metadata={"help": "Split of the queries: DATA/qrels/SPLIT.tsv."})
    strategy: str = field(default="rules", metadata={"help": "NAME or NAME=MODEL, as in acqo serve."})
    engines: list[str] = field(
        default_factory=lambda: ["auto"], metadata={"help": f"One or several engines. {ENGINE_HELP}"}
    )
    batching: list[str] = field(
        default_factory=lambda: ["off", "on"], metadata={"help": "Servers without or with batching, or both."}
    )
    clients: list[int] = field(default_factory=lambda: [1, 8, 32], metadata={"help": "Numbers of concurrent requests."})
    requests: int = field(default=96, metadata={"help": "Requests per line of the table."})
    turns: int = field(default=3, metadata={"help": "Number of parts per line; the servers alternate between parts."})
    conversations: bool = field(default=False, metadata={"help": "Sends queries with their conversations."})
    batch_size: int = field(default=32, metadata={"help": "Maximum batch size of the server with batching."})
    seconds: float = field(default=60.0, metadata={"help": "Time limit of a request and of its reformulation."})


class Server(NamedTuple):
    """A running server."""

    url: str
    process: psutil.Process

    def worked(self) -> float:
        """CPU seconds so far."""
        times = self.process.cpu_times()
        return times.user + times.system


@dataclass
class Line:
    """The measurements of one server with one number of clients."""

    seconds: list[float] = field(default_factory=list)
    passed: float = 0.0
    verdicts: list[str] = field(default_factory=list)
    worked: float = 0.0
    megabytes: float = 0.0


def main(config: BenchmarkConfig) -> None:
    """Starts the servers, sends the requests, and prints one line per number of clients and server."""
    from acqo_rl.data.beir import read_queries

    if min(config.requests, config.turns, *config.clients) < 1:
        raise ConfigError("requests, turns and clients must be at least 1.")
    if unknown := set(config.batching) - {"off", "on"}:
        raise ConfigError(f"batching contains {min(unknown)!r}; give off, on or both.")
    data = config.collection.partition("=")[2].split(",")[0]
    queries = {query.text: query for query in read_queries(data, config.split)}
    chosen = list(queries.values())[: config.requests]
    sent = chosen if config.conversations else [Query(query.id, query.text) for query in chosen]
    load = machine.load()
    kinds = [(engine, batching) for engine in config.engines for batching in config.batching]
    lines = {(kind, clients): Line() for clients in config.clients for kind in kinds}
    with ExitStack() as stack:
        starting = {kind: stack.enter_context(serving(config, *kind)) for kind in kinds}
        servers = {kind: wait_until_up() for kind, wait_until_up in starting.items()}
        known = {kind: asyncio.run(alone(server.url, sent, config.seconds)) for kind, server in servers.items()}
        for turn in range(config.turns):
            begin, end = (config.requests * i // config.turns for i in (turn, turn + 1))
            part = [sent[i % len(sent)] for i in range(begin, end)]
            for (kind, clients), line in lines.items():
                measure(line, servers[kind], part, clients, config.seconds, known[kind])
    print(f"{machine.describe(load)}\n")
    print(f"| {' | '.join(HEADINGS)} |\n|{' ---: |' * len(HEADINGS)}")
    for ((engine, batching), clients), line in lines.items():
        print(f"| {engine} | {batching} | {clients} | {' | '.join(figures(line))} |")


@contextmanager
def serving(config: BenchmarkConfig, engine: str, batching: str) -> Iterator[Callable[[], Server]]:
    """A server process that caches nothing and refuses nobody; the function waits until it is up and returns it."""
    settings = {
        "engine": engine, "collections": config.collection, "strategies": config.strategy, "port": 0,
        "batch_size": config.batch_size if batching == "on" else 1,
        "result_cache_size": 0, "limits.max_queued": max(config.clients),
        "timeouts.search": config.seconds, "timeouts.reformulation": config.seconds,
        "limits.queue_timeout": config.seconds,
        "index_device": config.index_device,
    }  # fmt: skip
    arguments = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "log"), "w") as log:
        program = [sys.executable, "-m", "acqo_rl.cli", "serve", *arguments]
        process = subprocess.Popen(program, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield partial(address, process, Path(log.name))
        finally:
            process.terminate()
            process.wait(30)


def address(process: subprocess.Popen[bytes], log: Path) -> Server:
    """A server, with the address in its log.

    Raises:
        ConfigError: it does not start.
    """
    while not (found := re.search(r"running on (http://[\w.:]+)", log.read_text())):
        if process.poll() is not None:
            raise ConfigError(f"The service did not start: {log.read_text().strip()[-1000:]}")
        time.sleep(0.05)
    return Server(found[1], psutil.Process(process.pid))


def measure(
    line: Line, server: Server, queries: Sequence[Query], clients: int, seconds: float, known: dict[str, Content]
) -> None:
    """Runs one part of a line of the table."""
    worked, begin = server.worked(), time.perf_counter()
    answers = asyncio.run(ask_all(server.url, queries, clients, seconds))
    line.passed += time.perf_counter() - begin
    line.worked += server.worked() - worked
    line.megabytes = server.process.memory_info().rss / 1e6
    line.seconds += [spent for _, _, spent in answers]
    line.verdicts += [verdict(text, answer, known) for text, answer, _ in answers]


async def alone(url: str, queries: Sequence[Query], seconds: float) -> dict[str, Content]:
    """The content of the response to each query, by its text, without concurrency."""
    return {text: content(answer) for text, answer, _ in await ask_all(url, queries, 1, seconds)}


async def ask_all(
    url: str, queries: Sequence[Query], clients: int, seconds: float
) -> list[tuple[str, dict[str, Any] | None, float]]:
    """Text, response and seconds of each request, with the given concurrency; a response of ``None`` is an error."""
    import httpx

    waiting = iter(enumerate(queries))
    done: list[tuple[str, dict[str, Any] | None, float]] = []

    async def client(http: httpx.AsyncClient) -> None:
        for number, query in waiting:
            begin = time.perf_counter()
            answer = await ask(http, f"request-{number}", query)
            done.append((query.text, answer, time.perf_counter() - begin))

    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    direct = httpx.AsyncHTTPTransport(limits=limits)  # not through a proxy of the environment
    async with httpx.AsyncClient(base_url=url, timeout=2 * seconds, transport=direct) as http:
        await asyncio.gather(*(client(http) for _ in range(clients)))
    return done


async def ask(http: httpx.AsyncClient, request_id: str, query: Query) -> dict[str, Any] | None:
    """Sends one request; returns the response with the sent id as ``asked as``, or ``None`` on failure."""
    import httpx

    body = {"query": query.text, "history": list(map(str, query.history)), "limit": 10, "include_rankings": True}
    try:
        answer = await http.post("/v1/search", json=body, headers={"X-Request-ID": request_id})
    except httpx.HTTPError:
        return None
    return (
        {**answer.json(), "asked as": request_id, "request_id": answer.headers["x-request-id"]}
        if answer.status_code == 200
        else None
    )


def content(answer: dict[str, Any] | None) -> Content:
    """The searched texts (including failed ones) and the documents, best first."""
    if answer is None:
        return frozenset(), ()
    searched = {row["query"] for row in answer["rankings"]} | {f["sub_query"] for f in answer["failures"]}
    return frozenset(searched), tuple(row["document_id"] for row in answer["results"])


def verdict(text: str, answer: dict[str, Any] | None, known: dict[str, Content]) -> str:
    """One of ``VERDICTS``, or ``fine`` if the response is complete and belongs to its request."""
    if answer is None:
        return "errors"
    own = answer["request_id"] == answer["asked as"] and answer["query_rewrite_info"]["original_query"] == text
    (searched, documents), (searched_alone, documents_alone) = content(answer), known[text]
    others = [other for query, other in known.items() if query != text]
    strange_search = searched != searched_alone and searched in (words for words, _ in others)
    strange_documents = documents != documents_alone and documents in (found for _, found in others if found)
    if not own or strange_search or strange_documents:
        return "mixed up"
    if answer["failures"]:
        return "partial"
    return "fine" if (searched, documents) == known[text] else "other"


def figures(line: Line) -> list[str]:
    """The measured cells of a line of the table."""
    spent = sorted(line.seconds)
    cuts = statistics.quantiles(spent, n=100, method="inclusive") if len(spent) > 1 else spent * 99
    counts = [str(line.verdicts.count(name)) for name in VERDICTS]
    answered = len(spent) - line.verdicts.count("errors")
    milliseconds = [f"{1000 * cuts[percent - 1]:.0f}" for percent in (50, 95, 99)]
    work = [f"{1000 * line.worked / len(spent):.0f}", f"{line.megabytes:.0f}"]
    return [f"{answered / line.passed:.1f}", *work, *milliseconds, *counts, str(len(spent))]


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
