"""Any engine with an HTTP interface, as a template describes it; see docs/engines.md."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jmespath.exceptions import JMESPathError

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.files import hash_of
from acqo_rl.language_models.http_clients import key_in
from acqo_rl.retrieval.engines.engine import Engine, Hit, seen_in
from acqo_rl.retrieval.engines.filters import as_numbers, meets, widened
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.engines.template import Answer, Request, Unsatisfiable, filled, read_template
from acqo_rl.retrieval.http_calls import Server, ServerError
from acqo_rl.roles import Vectors
from acqo_rl.text import one_line
from acqo_rl.time_limit import concurrently
from acqo_rl.types import Condition, Document, Filter

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONCURRENCY = 8
"""Maximum number of calls at once of a search without a batch form."""
_BYTES_PER_HIT, _BYTES_PER_DOCUMENT = 2**15, 2**18
_SHOWN = 200
"""Characters of an answer that an error shows."""
_SCORES = {
    "higher": lambda value: value,
    "cosine": lambda value: value,
    "lower": lambda value: -value,
    "cosine_distance": lambda value: 1 - value,
}


class HttpJsonEngine(Engine):
    """An engine that answers with JSON."""

    lists = False

    def __init__(self, location: Location, seconds: float | None = None) -> None:
        file = Path(location.place) / location.collection
        template = read_template(file)
        headers = {name: _expanded(value, file) for name, value in template.headers.items()}
        is_dense = template.uses_vectors or template.kind == "dense"
        self.location = location
        self.kind = "dense" if is_dense else "bm25"
        self.cosine = is_dense and template.scores.startswith("cosine")
        self.embeds = is_dense and not template.uses_vectors
        self.corpus = f"{template.url}{template.search.path}"
        self.state = hash_of(file.read_text(encoding="utf-8"))
        self.filters = template.filter is not None
        self.looks_up = template.documents is not None
        self._template = template
        self._seen = seen_in(location.shown)
        timeout = location.options.timeout
        self._server = Server(template.url, "A search engine", seconds=seconds, headers=headers, timeout=timeout)
        try:
            self._server.call("GET", "", lambda _: None, is_first=True)
        except ServerError as error:
            if error.status is None:  # any answer shows that the engine runs
                raise

    def search(self, texts: Sequence[str], vectors: Vectors | None, k: int, where: Filter) -> list[list[Hit]]:
        """The hits for each text; by calls of several texts if the template has a batch form."""
        k = min(k, self._template.max_k)
        try:
            narrowed = self._filter(widened(where))
        except Unsatisfiable:
            return [[] for _ in texts]
        rows = [None] * len(texts) if vectors is None else vectors.tolist()
        asked = [
            {"text": str(text), "vector": row, "k": k, "filter": narrowed}
            for text, row in zip(texts, rows, strict=True)
        ]
        size = self._template.batch.size if self._template.batch else 1
        parts = [asked[start : start + size] for start in range(0, len(asked), size)]
        answers = concurrently(self._answers, parts, _CONCURRENCY)
        found = [self._hits(answer, self._template.answer) for part in answers for answer in part]
        if not self.looks_up:
            self._seen.add(document for hits in found for document, _ in hits)
        return [
            [(document.id if meets(where, document.metadata) else None, score) for document, score in hits]
            for hits in found
        ]

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents with the given ids; without a call for them, those of the last hits.

        Raises:
            ConfigError: all documents are wanted.
        """
        if doc_ids is None:
            raise ConfigError(f"{self.location.shown} cannot list its documents; give a folder with them: --data.")
        return (one for one in self._looked_up(doc_ids, widened(where)) if meets(where, one.metadata))

    def _looked_up(self, doc_ids: Sequence[str], where: Filter) -> Iterable[Document]:
        call = self._template.documents
        if call is None:
            if not self._template.answer.text:
                raise ConfigError(f"The template {self.location.shown} finds no texts; add answer.text or documents.")
            return self._seen.find(doc_ids)
        numbers = as_numbers(doc_ids)
        asked = (Condition(call.key, (*doc_ids, *numbers)),) if call.key else ()
        ids = numbers if call.numbers else list(doc_ids)
        try:
            values = {"ids": ids, "k": len(doc_ids), "filter": self._filter((*where, *asked))}
        except Unsatisfiable:
            return ()
        answer = self._send(call, filled(call.body, values), values, len(doc_ids) * _BYTES_PER_DOCUMENT)
        hits = self._hits(answer, call.answer or self._template.answer, scored=False)
        return (document for document, _ in hits)

    def _filter(self, where: Filter) -> Any:
        return self._template.filter.filled(where) if self._template.filter else None

    def _answers(self, asked: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers for some texts, from one call."""
        template = self._template
        most = len(asked) * asked[0]["k"] * _BYTES_PER_HIT
        bodies = [filled(template.search.body, values) for values in asked]
        batch = template.batch
        if not batch:
            return [self._send(template.search, bodies[0], asked[0], most)]
        values = {
            **asked[0],
            "searches": bodies,
            "texts": [one["text"] for one in asked],
            "vectors": [one["vector"] for one in asked],
        }
        body: Any = filled(batch.body, values)
        if batch.lines:
            rows = [
                filled(line, {**one, "search": body})
                for one, body in zip(asked, bodies, strict=True)
                for line in batch.lines
            ]
            body = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        answer = self._send(batch, body, values, most)
        answers = self._found(batch.answers, answer, answer)
        if not isinstance(answers, list) or len(answers) != len(asked):
            raise self._unfit(f"batch.answers finds {_brief(answers)}, not {len(asked)} answers", answer)
        return answers

    def _send(self, request: Request, body: Any, values: Mapping[str, Any], most: int) -> Any:
        """The JSON of an answer.

        Raises:
            SearchError: the engine does not answer, refuses the call, or its answer is no JSON.
        """
        params = filled(request.params, values)
        path = f"{request.path}?{urlencode(params, doseq=True)}" if params else request.path
        try:
            return self._server.call(request.method, path, lambda answer: answer, body, most=most)
        except ServerError as error:
            raise SearchError(
                f"{error} If it runs, check path, body and headers of the template {self.location.shown}.",
                public=error.public,
            ) from error

    def _hits(self, answer: Any, form: Answer, *, scored: bool = True) -> list[tuple[Document, float]]:
        if isinstance(form.hits, dict):  # lists with one value for each hit
            lists = {name: self._found(path, answer, answer) for name, path in form.hits.items()}
            lists = {name: values for name, values in lists.items() if values is not None}
            if not lists or not all(isinstance(values, list) for values in lists.values()):
                raise self._unfit(f"answer.hits finds {_brief(lists)}, not lists", answer)
            if len({len(values) for values in lists.values()}) > 1:
                raise self._unfit("the lists of answer.hits have different lengths", answer)
            entries = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
        else:
            entries = self._found(form.hits, answer, answer)
        if not isinstance(entries, list):
            raise self._unfit(f"answer.hits ({form.hits.expression}) finds {_brief(entries)}, not a list", answer)
        return [self._hit(entry, rank, form, answer, scored) for rank, entry in enumerate(entries, start=1)]

    def _hit(self, entry: Any, rank: int, form: Answer, answer: Any, scored: bool) -> tuple[Document, float]:
        def part(name: str, *kinds: type, default: Any = None) -> Any:
            path = getattr(form, name)
            value = None if path is None else self._found(path, entry, answer)
            if value is None and default is not None:
                return default
            if not isinstance(value, kinds) or isinstance(value, bool):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                fault = f"answer.{name} ({path.expression}) of hit {rank} finds {_brief(value)}, not {wanted}"
                raise self._unfit(fault, answer)
            return value

        score = 1 / rank
        if form.score and scored:
            score = _SCORES[self._template.scores](float(part("score", int, float)))
            if not math.isfinite(score):
                raise self._unfit(f"the score of hit {rank} is not finite", answer)
        doc_id = str(part("id", str, int))
        title = part("title", str, default="")
        return Document(doc_id, title, part("text", str, default=""), part("metadata", dict, default={})), score

    def _found(self, path: Any, value: Any, answer: Any) -> Any:
        try:
            return path.search(value)
        except JMESPathError as error:
            raise self._unfit(f"{path.expression} cannot be read: {one_line(str(error))}", answer) from error

    def _unfit(self, fault: str, answer: Any) -> SearchError:
        return SearchError(
            f"The answer of {self._server.url} does not fit the template {self.location.shown}: {fault}. Correct the"
            f" template, or the URL if another program answered. The answer begins: {_brief(answer)}"
        )


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text)[:_SHOWN]


def _expanded(header: str, file: Path) -> str:
    """A header with the values of environment variables, which are masked in all messages."""

    def value(match: re.Match[str]) -> str:
        key = key_in(match[1])
        if key is None:
            raise ConfigError(f"{file} names the environment variable {match[1]}, which is not set; set it.")
        return key

    return _VARIABLE.sub(value, header)
