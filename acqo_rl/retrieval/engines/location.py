"""Locations of collections in search engines, such as ``qdrant://localhost:6333/wiki?mode=hybrid``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.engine import Fields

Mode = Literal["dense", "text", "hybrid"]

_SERVERS = ("qdrant", "milvus", "postgresql")
_FOLDERS = ("qdrant", "milvus")
_SCHEME = re.compile(rf"({'|'.join(dict.fromkeys(_SERVERS + _FOLDERS))}):")
_OTHER_SCHEME = re.compile(r"\A(?!https?:)([A-Za-z][A-Za-z0-9+.-]+)://")
_FIELDS = ("id", "title", "text", "vector", "metadata")
_ENCODER = ("encoder", "revision", "query_prompt", "passage_prompt", "dimensions")
_FORMS = (
    "write ENGINE://HOST:PORT/COLLECTION, or ENGINE:FOLDER/COLLECTION for qdrant and milvus (a file);"
    " postgresql://USER@HOST:PORT/DATABASE/TABLE"
)
_OPTIONS = ("mode", "timeout", "tenant", "tls", *_FIELDS, *_ENCODER)


_FORMS_OF_OPTIONS = (
    ("mode", "dense|text|hybrid", "dense, text or hybrid"),
    ("tls", "true|false", "true or false"),
    ("dimensions", "[0-9]+", "a number"),
    ("timeout", r"0*[1-9][0-9]*(\.[0-9]+)?|0*\.0*[1-9][0-9]*", "seconds above 0"),
)


@dataclass(frozen=True, repr=False)
class Location:
    """Where a collection is, and how it is searched. It is rendered without passwords.

    Attributes:
        scheme: name of the engine.
        place: ``HOST:PORT``, folder or file; for PostgreSQL ``USER@HOST:PORT/DATABASE``. A password is percent-encoded.
        collection: name of the collection, table or index.
        options: the query part.
        is_server: whether the engine is a server; else it runs in this process.
    """

    scheme: str
    place: str
    collection: str
    options: tuple[tuple[str, str], ...] = ()
    is_server: bool = field(default=True)

    @cached_property
    def given(self) -> dict[str, str]:
        """The options by name."""
        return dict(self.options)

    @property
    def mode(self) -> Mode:
        """What is searched: vectors, words or both."""
        return cast(Mode, self.given.get("mode", "dense"))

    @property
    def seconds(self) -> float:
        """Time limit of one call."""
        return float(self.given.get("timeout", 30))

    @property
    def tenant(self) -> str:
        """Metadata field that holds the tenant of a document; empty if the collection has no tenants."""
        return self.given.get("tenant", "")

    @property
    def encoder(self) -> dict[str, Any] | None:
        """Settings for :func:`acqo_rl.retrieval.encoders.load_encoder`; ``None`` if no encoder is named."""
        if "encoder" not in self.given:
            return None
        named: dict[str, Any] = {name: self.given[name] for name in _ENCODER if name in self.given}
        if "dimensions" in named:
            named["dimensions"] = int(named["dimensions"])
        return {"model": named.pop("encoder"), **named}

    @property
    def libpq_options(self) -> dict[str, str]:
        """Options that are not ours, which PostgreSQL's own client reads."""
        return {name: value for name, value in self.options if name not in _OPTIONS}

    def fields(self, *, built_here: bool) -> Fields:
        """The names of the fields: those of our own build, else the given ones."""
        if built_here:
            return Fields()
        named = {name: self.given[name] for name in _FIELDS if name in self.given}
        foreign = Fields(**{"id": "", "vector": "", "metadata": "", **named})
        return replace(foreign, words=foreign.text)

    def with_mode(self, mode: Mode) -> Address:
        """The location of the same collection that is searched in another way."""
        options = [(name, value) for name, value in self.options if name != "mode"]
        return replace(self, options=(*options, ("mode", mode))).address

    def absolute(self) -> Location:
        """The same location, independent of the working directory."""
        return self if self.is_server else replace(self, place=str(Path(self.place).resolve()))

    @property
    def shown(self) -> str:
        """The location without password and options, for messages."""
        return str(replace(self, options=()))

    @property
    def address(self) -> Address:
        """The location as it is given to :func:`read_location`."""
        options = f"?{urlencode(self.options, quote_via=quote, safe=':/')}" if self.options else ""
        return Address(f"{self.scheme}:{'//' if self.is_server else ''}{self.place}/{self.collection}{options}")

    def __repr__(self) -> str:
        return str(self.address)


def is_engine(index: str | Path) -> bool:
    """Whether an index location is a collection of a search engine.

    Raises:
        ConfigError: it has the form of such a location, but names no engine that can be searched.
    """
    if _SCHEME.match(str(index)):
        return True
    if other := _OTHER_SCHEME.match(str(index)):
        known = ", ".join(f"{scheme}://" for scheme in _SERVERS)
        raise ConfigError(
            f"A location that begins with {other[1]}:// cannot be searched; there are {known} and, for an index server,"
            " http:// and https://."
        )
    return False


def read_location(index: str) -> Location:
    """Reads the location of a collection.

    Raises:
        ConfigError: it has another form, or an option is unknown or has a wrong value.
    """
    scheme, _, rest = whole_of(index).partition(":")
    rest, _, query = rest.partition("?")
    is_server = rest.startswith("//")
    place, _, collection = rest.removeprefix("//").rpartition("/")
    credentials, _, host_and_rest = place.rpartition("@")
    user, _, password = credentials.partition(":")
    if password and is_server:
        place = f"{user}:{quote(unquote(password), safe='')}@{host_and_rest}"
    host = urlsplit(f"//{place}")
    known = _SERVERS if is_server else _FOLDERS
    has_place = "/" in place if scheme == "postgresql" else bool(place)
    if scheme not in known or not collection or not has_place:
        raise ConfigError(f"{Address(index)!r} is not a location of a collection; {_FORMS}.")
    location = Location(scheme, place, collection, tuple(parse_qsl(query, keep_blank_values=True)), is_server)
    try:
        _ = host.port
    except ValueError as error:
        raise ConfigError(f"The port in {location.shown} is not a number from 0 to 65535; correct it.") from error
    _check_options(location)
    return location


def _check_options(location: Location) -> None:
    unknown = [name for name in location.given if name not in _OPTIONS]
    if unknown and location.scheme != "postgresql":
        raise ConfigError(f"{location.shown} has no option {unknown[0]!r}; there are: {', '.join(_OPTIONS)}.")
    for name, pattern, wanted in _FORMS_OF_OPTIONS:
        if name in location.given and not re.fullmatch(pattern, location.given[name]):
            raise ConfigError(f"The option {name} of {location.shown} is {location.given[name]!r}; give {wanted}.")
