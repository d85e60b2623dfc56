"""Keeps what was computed: reformulations by query, rankings by text, scores by pair.

A further reformulator, index or fusion therefore costs only what is new, and an interrupted study continues.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from acqo_rl import __version__
from acqo_rl.addresses import Address
from acqo_rl.errors import DataError
from acqo_rl.files import hash_of, writing
from acqo_rl.language_models.embedded import resolve
from acqo_rl.language_models.openvino import PREFIX
from acqo_rl.reformulation.load import prompts_model, strategy_key
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.rerankers import CROSS_ENCODER, load_reranker
from acqo_rl.roles import Reformulator, Reranker, Retriever
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.types import FeedbackSpec, Query, Ranking, Reformulation, search_key

WARM_UP = "The first call of a process is slow and is not measured."

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Answers(Generic[Asked, Answer]):
    """The answers of one role and the milliseconds they took: each is computed once, and kept in an SQLite file.

    A batch is written completely or not at all.
    """

    def __init__(
        self,
        file: Path,
        asked: str,
        form: type[Answer],
        compute: Callable[[list[Asked]], Sequence[Answer]],
        key: Callable[[Asked], str],
        keep: Callable[[Answer], bool] = lambda _: True,
    ) -> None:
        """Reads the answers of earlier runs.

        Args:
            file: keeps the answers of all roles; created with the first answer.
            asked: everything except the key that an answer depends on.
            form: the type of the answers.
            compute: returns one answer per item.
            key: the key of an item.
            keep: whether the next process may use an answer.

        Raises:
            DataError: the file is damaged or has another content.
        """
        self._file = file
        self._asked = asked
        self._form = TypeAdapter(form)
        self._compute = compute
        self._key = key
        self._keep = keep
        self._known: dict[str, tuple[Answer, float]] = {}
        if file.is_file():
            with self._open() as database:
                rows = database.execute("SELECT key, answer, ms FROM answers WHERE asked = ?", (asked,))
                self._known = {key: (self._form.validate_json(answer), ms) for key, answer, ms in rows}

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with writing(self._file):
            try:
                with closing(sqlite3.connect(self._file)) as database, database:
                    database.execute(
                        "CREATE TABLE IF NOT EXISTS answers"
                        " (asked TEXT, key TEXT, answer TEXT, ms REAL, PRIMARY KEY (asked, key)) WITHOUT ROWID"
                    )
                    yield database
            except (sqlite3.Error, ValueError) as error:  # from the file, or from an answer of another form
                raise DataError(
                    f"{self._file} cannot be used ({error}): delete it, and its contents are computed again."
                ) from error

    def __call__(self, items: Iterable[Asked]) -> list[Answer]:
        """One answer per item, in input order; the missing ones are computed in one call and share its time."""
        wanted = [(self._key(item), item) for item in items]
        if missing := {key: item for key, item in wanted if key not in self._known}:
            begin = time.perf_counter()
            answers = dict(zip(missing, self._compute(list(missing.values())), strict=True))
            ms = 1000 * (time.perf_counter() - begin) / len(missing)
            self._known |= {key: (answer, ms) for key, answer in answers.items()}
            kept = {key: self._form.dump_json(answer).decode() for key, answer in answers.items() if self._keep(answer)}
            rows = [(self._asked, key, text, ms) for key, text in kept.items()]
            with self._open() as database:
                database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)
        return [self._known[key][0] for key, _ in wanted]

    def ms(self, item: Asked) -> float:
        """Milliseconds of an answer: those of its batch, divided by the items of the batch; 0 if it is not known."""
        _, ms = self._known.get(self._key(item), (None, 0.0))
        return ms


class CachedRetriever(Retriever):
    """Searches each text once, always ``DEPTH`` documents deep, and keeps the time it took."""

    def __init__(self, name: str, retriever: Retriever, fingerprint: str, file: Path, *, embeds: bool) -> None:
        """Wraps a retriever.

        Args:
            name: recorded in every ranking.
            retriever: searches the texts that the cache does not hold.
            fingerprint: of the index.
            file: keeps the rankings.
            embeds: whether a search embeds its text.
        """
        self.name = name
        self.embeds = embeds
        self.cosine = retriever.cosine
        self.fingerprint = fingerprint
        self._found: Answers[str, Ranking] = Answers(
            file,
            f"search {DEPTH} {fingerprint}",
            Ranking,
            lambda texts: retriever.search(texts, DEPTH),
            key=lambda text: key_of(*search_key(text)),
        )
        self.ms = self._found.ms

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, and at most ``DEPTH``, in input order."""
        found = [ranking.first(k) for ranking in self._found(texts)]
        return [Ranking(one.doc_ids, one.scores, self.name, text) for one, text in zip(found, texts, strict=True)]


class CachedReformulator(Reformulator):
    """Reformulates each query once and keeps the time it took. The reformulator is loaded when it is first needed."""

    def __init__(self, name: str, load: Callable[[], Reformulator], cache_key: str, file: Path) -> None:
        """Wraps a reformulator. A reformulation with a failed model call is not kept for the next process.

        Args:
            name: of the reformulator.
            load: loads the reformulator.
            cache_key: everything except the query that affects the reformulations; see :func:`reformulator_key`.
            file: keeps the reformulations.
        """
        self.name = name
        loaded = lru_cache(load)
        self._made: Answers[Query, Reformulation] = Answers(
            file,
            f"reformulate {cache_key}",
            Reformulation,
            lambda queries: loaded().reformulate(queries),
            key=query_key,
            keep=lambda made: not made.failed_calls,
        )
        self._feedback: Answers[None, FeedbackSpec] = Answers(
            file, f"feedback {cache_key}", FeedbackSpec, lambda _: [loaded().feedback], key=lambda _: "feedback"
        )
        self.ms = self._made.ms

    @cached_property
    def feedback(self) -> FeedbackSpec:  # type: ignore[override]
        """The feedback that the reformulator reads."""
        [feedback] = self._feedback([None])
        return feedback

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order."""
        return [replace(made, query=query) for made, query in zip(self._made(queries), queries, strict=True)]


class CachedReranker(Reranker):
    """Scores each pair once and keeps the time it took. The reranker is loaded when it is first needed."""

    def __init__(self, name: str, load: Callable[[], Reranker], cache_key: str, file: Path) -> None:
        """Wraps a reranker; ``cache_key`` is everything except the pair that affects a score."""
        self.name = name
        loaded = lru_cache(load)
        self._scored: Answers[tuple[str, str], float] = Answers(
            file, f"rerank {cache_key}", float, lambda pairs: loaded().score(pairs), key=lambda pair: key_of(*pair)
        )
        self.ms = self._scored.ms

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One score per pair of query and passage, in input order."""
        return self._scored(pairs)


def key_of(*values: Any) -> str:
    """A short key of JSON-serialisable values."""
    return hash_of(*values)[:32]


def query_key(query: Query) -> str:
    """Key of a query's text, conversation and feedback; its id does not count."""
    return key_of(query.text, [*map(str, query.history)], [asdict(snippet) for snippet in query.feedback])


def reformulator_key(name: str, model: str, settings: StrategySettings) -> str:
    """Everything except the query that affects the reformulations.

    Args:
        name: as in :func:`acqo_rl.reformulation.load.load_reformulator`.
        model: of the reformulator; empty if it has none.
        settings: only the settings that the reformulator reads enter the key.
    """
    made = strategy_key(name, model, settings) if prompts_model(name) else ""
    return f"{name} {model} {fingerprint(model)} {__version__} {made}".rstrip()


def fingerprint(model: str) -> str:
    """Hash of the names, sizes and modification times of the files of a model folder; empty if it is not a folder.

    ``README.md`` and ``export.json`` do not count, because a new model card does not change the model.
    """
    model = model.removeprefix(PREFIX)
    folder = Path(resolve(model) if model.startswith("trained:") else model)
    if not model or not folder.is_dir():
        return ""
    files = sorted(
        path for path in folder.iterdir() if path.is_file() and path.name not in ("README.md", "export.json")
    )
    return key_of([(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files])


def open_reranker(place: Address, file: Path) -> CachedReranker:
    """The reranker with the scores of earlier runs; it is warmed up when it is first needed."""
    reranker = load_reranker(place)

    def load() -> Reranker:
        reranker.score([(WARM_UP, WARM_UP)])
        return reranker

    cache_key = f"{reranker.name} {fingerprint(reranker.name.removeprefix(CROSS_ENCODER))}".rstrip()
    return CachedReranker(reranker.name, load, cache_key, file)
