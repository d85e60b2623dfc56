"""Any engine with an HTTP interface, as a template describes it; see docs/engines.md."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from jmespath.exceptions import JMESPathError

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.files import hash_of
from acqo_rl.language_models.http_clients import TEMPORARY, Connections, is_temporary, key_in
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Engine, Hit, Row, Schema, seen_in
from acqo_rl.retrieval.engines.filters import as_numbers
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.engines.template import Answer, Request, Unsatisfiable, filled, read_template
from acqo_rl.roles import Vectors
from acqo_rl.text import one_line
from acqo_rl.time_limit import TimeLimit, concurrently, limited
from acqo_rl.types import Condition, Filter

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

    errors = (httpx.HTTPError, TimeoutError)
    is_temporary = staticmethod(is_temporary)

    def __init__(self, location: Location) -> None:
        file = Path(location.place) / location.collection
        template = read_template(file)
        headers = {name: _expanded(value, file) for name, value in template.headers.items()}
        self._connections = Connections(template.url, "A search engine", location.options.timeout, headers)
        self._seconds = location.options.timeout
        self._template = template
        self._shown = location.shown
        self._state = hash_of(file.read_text(encoding="utf-8"))
        self._seen = seen_in(location.shown)

    def schema(self) -> Schema:
        """What the template tells. Any answer shows that the engine runs."""
        with suppress(httpx.HTTPStatusError, ValueError):
            self._called("GET", "", None)
        template = self._template
        is_dense = template.uses_vectors or template.kind == "dense"
        metric = COSINE if template.scores.startswith("cosine") else DOT
        return Schema(
            count=0,
            vectors={"": (None, metric)} if is_dense else {},
            key="id",
            fields=("id", "title", "text", "metadata"),
            metadata="metadata",
            mode="dense" if is_dense else "text",
            embeds=is_dense and not template.uses_vectors,
            corpus=f"{template.url}{template.search.path}",
            state=self._state,
            filters=template.filter is not None,
            lists=False,
            looks_up=template.documents is not None,
        )

    def has_words(self) -> bool:
        """The template says how words are searched."""
        return True

    def search(self, texts: Sequence[str], vectors: Vectors | None, k: int, where: Filter) -> list[list[Hit]]:
        """The hits for each text; by calls of several texts if the template has a batch form."""
        k = min(k, self._template.max_k)
        try:
            narrowed = self._filter(where)
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
        if self._template.documents is None:
            for hits in found:
                self._seen.add(hits)
        return found

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields of the documents with the given ids; without a call for them, those of the last hits.

        Raises:
            ConfigError: all documents are wanted.
        """
        if doc_ids is None:
            raise ConfigError(f"{self._shown} cannot list its documents; give a folder with them: --data.")
        call = self._template.documents
        if call is None:
            if not self._template.answer.text:
                raise ConfigError(f"The template {self._shown} finds no texts; add answer.text or documents.")
            yield from self._seen.rows(doc_ids)
            return
        numbers = as_numbers(doc_ids)
        asked = (Condition(call.key, (*doc_ids, *numbers)),) if call.key else ()
        ids = numbers if call.numbers else list(doc_ids)
        try:
            values = {"ids": ids, "k": len(doc_ids), "filter": self._filter((*where, *asked))}
        except Unsatisfiable:
            return
        answer = self._send(call, filled(call.body, values), values, len(doc_ids) * _BYTES_PER_DOCUMENT)
        for doc_id, _, row in self._hits(answer, call.answer or self._template.answer, scored=False):
            yield doc_id, row

    def _filter(self, where: Filter) -> Any:
        if not where or not self._template.filter:
            return self._template.filter.none if self._template.filter else None
        named = (replace(condition, field=condition.field.removeprefix("metadata.")) for condition in where)
        return self._template.filter.filled(tuple(named))

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

    def _called(self, method: str, path: str, body: Any, most: int = 0) -> httpx.Response:
        with limited(TimeLimit(self._seconds)):
            return self._connections.run(self._connections.send(method, path, body, most))

    def _send(self, request: Request, body: Any, values: Mapping[str, Any], most: int) -> Any:
        """The JSON of an answer.

        Raises:
            SearchError: the engine refuses the call, or its answer is no JSON.
        """
        params = filled(request.params, values)
        path = f"{request.path}?{urlencode(params, doseq=True)}" if params else request.path
        try:
            response = self._called(request.method, path, body, most)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            if status in TEMPORARY:
                raise
            raise SearchError(
                f"{self._template.url} answered {status} ({one_line(error.response.text)[:_SHOWN]}). Check path, body"
                f" and headers of the template {self._shown}."
            ) from error
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            raise self._unfit(f"it is no JSON ({error})", response.text) from error

    def _hits(self, answer: Any, form: Answer, *, scored: bool = True) -> list[Hit]:
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

    def _hit(self, entry: Any, rank: int, form: Answer, answer: Any, scored: bool) -> Hit:
        parts = {
            name: self._found(path, entry, answer)
            for name in ("id", "score", "title", "text", "metadata")
            if (path := getattr(form, name)) is not None
        }

        def checked(name: str, kinds: type | tuple[type, ...], wanted: str) -> Any:
            value = parts.get(name)
            if not isinstance(value, kinds) or isinstance(value, bool):
                path = getattr(form, name).expression
                raise self._unfit(f"answer.{name} ({path}) of hit {rank} finds {_brief(value)}, not {wanted}", answer)
            return value

        score = 1 / rank
        if form.score and scored:
            score = _SCORES[self._template.scores](float(checked("score", (int, float), "a number")))
            if not math.isfinite(score):
                raise self._unfit(f"the score of hit {rank} is not finite", answer)
        doc_id = str(checked("id", (str, int), "a text or a whole number"))
        row = {"id": doc_id}
        for name in ("title", "text"):
            row[name] = "" if parts.get(name) is None else checked(name, str, "a text")
        row["metadata"] = {} if parts.get("metadata") is None else checked("metadata", dict, "an object")
        return doc_id, score, row

    def _found(self, path: Any, value: Any, answer: Any) -> Any:
        try:
            return path.search(value)
        except JMESPathError as error:
            raise self._unfit(f"{path.expression} cannot be read: {one_line(str(error))}", answer) from error

    def _unfit(self, fault: str, answer: Any) -> SearchError:
        return SearchError(
            f"The answer of {self._template.url} does not fit the template {self._shown}: {fault}. Correct the"
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
