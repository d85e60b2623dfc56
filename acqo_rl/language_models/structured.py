"""Replies in JSON: the models of prompted tasks, and how replies are read that nothing forced into their schema.

A local model is guided by the schema, and a server gets it as a response format. JSON with faults is repaired. A reply
of another form is not read: a refusal or a question of the model, or the beginning of a list, would be searched.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
)
from pydantic_core import from_json

from acqo_rl.text import MAX_CHARACTERS, normalised, one_line
from acqo_rl.types import Completion

Reply = type[BaseModel]
"""The form of a reply."""

_LONGEST = 10_000
"""Maximum number of characters of a reply that are read."""
_MARKUP = re.compile(r"[{}\[\]]|```")
_BEGIN = re.compile(r"[{\[]")
_NONE = ("", "none", "null")
_SEARCHED = re.compile(r"^(?!(?:[^\w\s]+|[^\w\s]*\d{1,2}[.):\]])\s).*[^:\uff1a]$")
"""No item of a list (``1. heat pump``), and no line that introduces others (``Here are three:``)."""


def _from_text(value: object) -> object:
    """Some models write a value as a text of JSON, or as a list of one."""
    value = json.loads(value) if isinstance(value, str) else value
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _line(value: object) -> object:
    return one_line(value) if isinstance(value, str) else value


def _check_searched(text: str) -> str:
    if not _SEARCHED.match(text):
        raise ValueError(f"{text!r} is an item or the beginning of a list")
    return text


BOOLEAN: Any = Annotated[bool, Strict(), BeforeValidator(_from_text)]
INTEGER: Any = Annotated[int, Strict(), BeforeValidator(_from_text)]


def fields(**types: Any) -> Reply:
    """The form of a reply: an object with these fields, all required."""
    config = ConfigDict(json_schema_extra={"additionalProperties": False})
    given: Any = {name: (kind, ...) for name, kind in types.items()}
    return create_model("Reply", __config__=config, **given)


def text(longest: int = MAX_CHARACTERS) -> Any:
    """A text on one line that is not empty."""
    return Annotated[str, Field(min_length=1, max_length=longest), BeforeValidator(_line)]


def searched(longest: int = MAX_CHARACTERS) -> Any:
    """A text that is searched."""
    return Annotated[text(longest), AfterValidator(_check_searched)]


def several(kind: Any, most: int, least: int = 1) -> Any:
    """A list.

    Entries are dropped if they are empty or too long, if an earlier one has the same text, or if there are too many; an
    entry of another form voids the reply.
    """
    entry = TypeAdapter(kind)

    def read(values: object) -> object:
        values = json.loads(values) if isinstance(values, str) else values
        if not isinstance(values, list):
            return [] if values is None else values
        found: dict[str, Any] = {}
        for value in values:
            try:
                one = entry.validate_python(value)
            except ValidationError as error:
                if error.errors()[0]["type"] not in ("string_too_long", "string_too_short"):
                    raise
            else:
                found.setdefault(normalised(str(one)), one)
        found.pop("", None)
        return [*found.values()][:most]

    return Annotated[list[kind], BeforeValidator(read), Field(min_length=least, max_length=most)]


def one_of(*values: str) -> Any:
    """One of these words."""
    return Annotated[
        Literal[values],
        BeforeValidator(lambda value: one_line(value).strip(".*\"'").casefold() if isinstance(value, str) else value),
    ]


def or_none(kind: Any) -> Any:
    """A value that may be ``null``."""

    def read(value: object) -> object:
        return None if isinstance(value, str) and value.strip(" .").casefold() in _NONE else value

    return Annotated[kind | None, BeforeValidator(read)]


def or_nothing(kind: Any) -> Any:
    """A value that may be ``null``, and is read as ``None`` if it has another form."""

    def read(value: object, validate: Any) -> object:
        try:
            return validate(value)
        except ValidationError:
            return None

    return Annotated[kind | None, WrapValidator(read)]


def without(schema: Any, *keywords: str) -> Any:
    """The schema without keywords that a server refuses, or compiles to a large grammar."""
    if isinstance(schema, dict):
        return {key: without(part, *keywords) for key, part in schema.items() if key not in keywords}
    return [without(part, *keywords) for part in schema] if isinstance(schema, list) else schema


def example(**values: object) -> str:
    """A worked example of a reply, written as guided models write."""
    return json.dumps(values, ensure_ascii=False)


def read_reply(completion: Completion, reply: Reply) -> dict[str, Any] | None:
    """Returns the fields of a reply; ``None`` if they cannot be read.

    A text or list entry that the token limit cut off is dropped.

    Args:
        completion: the completion, without thoughts.
        reply: made by :func:`fields`.
    """
    try:
        value = _json_in(completion.text[:_LONGEST], completion.finished)
        if isinstance(value, str):
            value = json.loads(value)
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
            [value] = value
        if len(reply.model_fields) == 1 and value is not None and not isinstance(value, (dict, str)):
            value = dict.fromkeys(reply.model_fields, value)
        return reply.model_validate(value).model_dump()
    except (ValueError, RecursionError):
        return None


def problem_of(completion: Completion) -> str:
    """Why :func:`read_reply` returned ``None``."""
    seen = one_line(completion.text)[:80]
    fault = "has another form than the prompt asks for" if completion.finished else "was cut off by the token limit"
    return completion.problem or f"the reply {seen!r} {fault}"


def _json_in(reply: str, finished: bool) -> Any:
    """The JSON value in a reply, repaired if necessary; of one that was cut off, what is complete."""
    import json_repair

    if not finished:
        begin = _BEGIN.search(reply)
        return from_json(reply[begin.start() :] if begin else reply, allow_partial=True)
    try:
        return json.loads(reply)
    except ValueError:
        return json_repair.loads(reply, skip_json_loads=True) or None if _MARKUP.search(reply) else None
