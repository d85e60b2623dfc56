"""Templates of engines with an HTTP interface: what is sent, and where an answer has what is wanted.

A template is a YAML file; docs/engines.md explains its keys, and configs/engines has some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import jmespath
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from acqo_rl.addresses import Address
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.filters import kind_of
from acqo_rl.settings import read_yaml
from acqo_rl.types import Condition, Filter

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_OF_ONE = {"text", "vector", "k", "filter"}
_OF_SEVERAL = {"searches", "texts", "vectors", "k", "filter"}
_OF_DOCUMENTS = {"ids", "k", "filter"}
_QUOTES: dict[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps(text, ensure_ascii=False),
    "sql": lambda text: "'" + text.replace("'", "''") + "'",
    "backticks": lambda text: f"`{text}`",
}


class Unsatisfiable(Exception):
    """No document can meet a filter, because the values of a field have another type."""


def _expression(text: Any) -> Any:
    if not isinstance(text, str):
        raise ValueError("write a JMESPath expression as a text")
    return jmespath.compile(text)


Expression = Annotated[Any, BeforeValidator(_expression)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Request(_Part):
    """A call.

    Attributes:
        path: below the URL of the engine.
        params: of the URL.
        body: is sent as JSON.
    """

    method: Literal["GET", "POST", "PUT"] = "POST"
    path: str = ""
    params: dict[str, Any] = {}
    body: Any = None


class Batch(Request):
    """One call for several texts.

    Attributes:
        lines: for each text, JSON lines that are sent instead of a body, as Elasticsearch's ``_msearch`` wants them.
        answers: list of the answers, one for each text.
        size: maximum number of texts.
    """

    lines: list[Any] = []
    answers: Expression
    size: int = Field(default=50, ge=1)


class Answer(_Part):
    """Where an answer has its hits, and a hit its parts.

    Attributes:
        hits: list of hits; or names of lists, each with one value for each hit.
        score: without it, a hit has 1 divided by its rank.
    """

    hits: Expression | dict[str, Expression]
    id: Expression
    score: Expression | None = None
    title: Expression | None = None
    text: Expression | None = None
    metadata: Expression | None = None


class Documents(Request):
    """The call that looks up documents.

    Attributes:
        key: field of the ids; the filter then also has them.
        numbers: whether the ids are sent as numbers.
        answer: as that of a search, by default.
    """

    key: str = ""
    numbers: bool = False
    answer: Answer | None = None


class FilterTemplate(_Part):
    """How an engine writes a filter: as JSON, or as text if ``equals`` is a text.

    Attributes:
        equals: ``{field}`` has the ``{value}``.
        equals_number: the same for numbers, where an engine writes it in another way.
        at_least: ``{field}`` is ``{value}`` or more; likewise ``at_most``.
        any_of: one of the ``{conditions}`` holds; of a text, what stands between the conditions.
        all_of: all of the ``{conditions}`` hold, likewise.
        none: stands for no filter; without it, the entry of the body with ``{filter}`` is left out.
        quotes: how a text is quoted in a filter that is a text.
        fields: type of each field that can be filtered; by default, all can, by values of any type.
    """

    equals: Any
    equals_number: Any = None
    at_least: Any = None
    at_most: Any = None
    any_of: Any
    all_of: Any
    none: Any = None
    quotes: Literal["json", "sql", "backticks"] = "json"
    fields: dict[str, Literal["text", "number", "truth"]] = {}

    @property
    def is_text(self) -> bool:
        """Whether a filter is a text."""
        return isinstance(self.equals, str)

    @model_validator(mode="after")
    def _one_form(self) -> FilterTemplate:
        for name in ("equals_number", "at_least", "at_most", "any_of", "all_of"):
            value = getattr(self, name)
            if value is not None and isinstance(value, str) != self.is_text:
                raise ValueError(f"{name} must be {'a text' if self.is_text else 'JSON'}, as equals is")
        for name in ("equals", "equals_number", "at_least", "at_most"):
            _check(getattr(self, name), {"value"}, {"field", "value"} if self.is_text else {"field"}, f"filter.{name}")
        if not self.is_text:
            for name in ("any_of", "all_of"):
                _check(getattr(self, name), {"conditions"}, set(), f"filter.{name}")
        return self

    def filled(self, where: Filter) -> Any:
        """The filter of conditions; ``None`` if there are none.

        Raises:
            ConfigError: a field or a bound cannot be filtered.
            Unsatisfiable: no document meets it.
        """
        parts = [self._condition(condition) for condition in where]
        return self._joined(self.all_of, parts) if parts else self.none

    def _condition(self, condition: Condition) -> Any:
        field = condition.field
        wanted = self.fields.get(field)
        if self.fields and not wanted:
            raise ConfigError(
                f"The filter has the field {field!r}, which the template does not list in filter.fields; there are:"
                f" {', '.join(self.fields)}."
            )
        values = [value for value in condition.any_of if wanted in (None, kind_of(value))]
        of_numbers = "equals" if self.equals_number is None else "equals_number"
        parts = [self._test(of_numbers if kind_of(value) == "number" else "equals", field, value) for value in values]
        if condition.any_of and not parts:
            raise Unsatisfiable
        alternatives = [self._joined(self.any_of, parts)] if parts else []
        bounds = [
            self._test("at_least" if sign == "gte" else "at_most", field, bound) for sign, bound in condition.bounds
        ]
        return self._joined(self.all_of, [*alternatives, *bounds])

    def _test(self, name: str, field: str, value: Any) -> Any:
        template = getattr(self, name)
        if template is None:
            raise ConfigError(f"The filter has bounds for {field!r}, but the template has no filter.{name}; add it.")
        if self.is_text and not isinstance(value, str):
            value = json.dumps(value)
        elif self.is_text:
            if self.quotes == "backticks" and "`" in value:
                raise ConfigError(f"The filter has {value!r}; this engine accepts no value with a backtick.")
            value = _QUOTES[self.quotes](value)
        return filled(template, {"field": field, "value": value})

    def _joined(self, template: Any, parts: list[Any]) -> Any:
        if len(parts) == 1:
            return parts[0]
        return f"({template.join(parts)})" if self.is_text else filled(template, {"conditions": parts})


class Template(_Part):
    """An engine, see docs/engines.md.

    Attributes:
        kind: what the engine compares; a template with vectors is ``dense``.
        scores: whether a higher or a lower score is better, or the score is a cosine, or 1 minus a cosine.
        max_k: maximum number of hits that the engine returns.
    """

    url: Address
    headers: dict[str, str] = {}
    search: Request
    batch: Batch | None = None
    answer: Answer
    kind: Literal["dense", "bm25"] | None = None
    scores: Literal["higher", "lower", "cosine", "cosine_distance"] = "higher"
    filter: FilterTemplate | None = None
    documents: Documents | None = None
    max_k: int = Field(default=10_000, ge=1)

    @property
    def uses_vectors(self) -> bool:
        """Whether the vector of a text is sent."""
        return not {"vector", "vectors"}.isdisjoint(self._names())

    @property
    def _pasted(self) -> set[str]:
        """The placeholders that may stand in a longer text: what stands for them is quoted."""
        return {"filter"} if self.filter and self.filter.is_text else set()

    def _names(self) -> set[str]:
        """The placeholders of the calls that search."""
        names = _check([self.search.params, self.search.body], _OF_ONE, self._pasted, "search")
        if not self.batch:
            return names
        several = _check([self.batch.params, self.batch.body], _OF_SEVERAL, self._pasted, "batch")
        several |= _check(self.batch.lines, _OF_ONE | {"search"}, self._pasted, "batch.lines")
        return several | names if several & {"search", "searches"} else several

    @model_validator(mode="after")
    def _is_complete(self) -> Template:
        names = self._names()
        if names.isdisjoint({"text", "texts", "vector", "vectors"}):
            raise ValueError('nothing of the query is sent; put "{text}" or "{vector}" into search.body or .params')
        if self.uses_vectors and self.kind == "bm25":
            raise ValueError("kind is bm25, but a vector is sent; omit it")
        if self.filter and "filter" not in names:
            raise ValueError('"{filter}" stands nowhere in the search; put it into the body, or omit the key filter')
        if "filter" in names and not self.filter:
            raise ValueError('the search has "{filter}", but the template has no key filter; add it')
        if self.filter and not self.answer.metadata:
            raise ValueError("with a filter, answer.metadata is needed: each hit is tested again")
        if (call := self.documents) is not None:
            of_documents = _check([call.params, call.body], _OF_DOCUMENTS, self._pasted, "documents")
            if "ids" not in of_documents and not (call.key and self.filter and "filter" in of_documents):
                raise ValueError('documents sends no ids; use "{ids}", or "{filter}" with the name of their field: key')
            if call.key and self.filter and self.filter.fields and call.key not in self.filter.fields:
                raise ValueError(f"filter.fields has no {call.key!r}, which is documents.key; add it")
        return self


def read_template(file: Path) -> Template:
    """Reads a template.

    Raises:
        ConfigError: there is no such file, or it is no template; all faults are named.
    """
    try:
        content = read_yaml(file.read_text(encoding="utf-8"), yaml.SafeLoader)
        return Template.model_validate(content)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}" for fault in error.errors()]
        raise ConfigError(f"{file} is no template of an engine; correct it. {'; '.join(faults)}.") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{file} cannot be read as a template of an engine ({error}); correct it.") from error


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A copy with values instead of placeholders; entries with the value ``None`` are left out.

    A value stands where its placeholder is the whole text, so a query remains one JSON value, whatever it contains.
    """
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole and whole[1] in values:
            return values[whole[1]]
        return _PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0]) or ""), template)
    if isinstance(template, Mapping):
        entries = ((filled(key, values), value, filled(value, values)) for key, value in template.items())
        return {key: new for key, old, new in entries if new is not None or old is None}
    if isinstance(template, Sequence):
        items = ((value, filled(value, values)) for value in template)
        return [new for old, new in items if new is not None or old is None]
    return template


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for key, value in template.items():
            if isinstance(key, str) and value is None and len(template) == 1 and key.isidentifier():
                raise ValueError(f'write "{{{key}}}" in quotes: without them, YAML reads an object')
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(template, list):
        for value in template:
            yield from _texts(value)


def _check(template: Any, known: set[str], pasted: set[str], where: str) -> set[str]:
    """The placeholders of a template.

    Raises:
        ValueError: one is unknown, or stands in a longer text although its value may contain any sign.
    """
    names = set()
    for text in _texts(template):
        for name in _PLACEHOLDER.findall(text):
            if name not in known | pasted:
                raise ValueError(f"{where} has the unknown placeholder {{{name}}}; there are: {sorted(known)}")
            if name not in pasted and text != f"{{{name}}}":
                raise ValueError(f'{where} has {text!r}; "{{{name}}}" must be the whole text')
            names.add(name)
    return names
