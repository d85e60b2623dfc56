"""Locations of collections in search engines, such as ``postgresql://me@localhost/db/wiki?mode=hybrid``."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import ConfigError

ENGINES = {
    "postgresql": ("PostgresqlEngine", "postgres"),
    "http+json": ("HttpJsonEngine", "remote"),
    "langchain": ("LangChainEngine", "langchain"),
}
"""Scheme of the locations -> class in the file of this name, and extra of this package with the engine's packages."""

_LOCATION = re.compile(rf"({'|'.join(map(re.escape, ENGINES))}):|(?!https?:)[A-Za-z][A-Za-z0-9+.-]{{1,30}}://")


class LocationOptions(BaseModel):
    """The options after the ``?`` of a location.

    Attributes:
        timeout: time limit of one call in seconds.
        tenant: metadata field that holds the tenant of a document; empty if the collection has no tenants.
        encoder: model of the vectors, with its settings below.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout: float = Field(default=30, gt=0)
    tenant: str = ""
    encoder: str = ""
    revision: str | None = None
    query_prompt: str | None = None
    passage_prompt: str | None = None
    dimensions: int | None = None


class TableOptions(LocationOptions, extra="allow"):
    """The options of a table of PostgreSQL; those of its own client are extra.

    Attributes:
        mode: what is searched: vectors, words or both.
        id: column with the document id.
        title: column that may be missing.
        text: column with the text of a document.
        vector: column with the embedding; may be empty if there is only one.
        metadata: column with an object of all other fields; empty if these stand beside the text.
    """

    mode: Literal["dense", "text", "hybrid"] = "dense"
    id: str = "id"
    title: str = "title"
    text: str = "text"
    vector: str = ""
    metadata: str = ""


@dataclass(frozen=True, repr=False)
class Location:
    """Where a collection is, and how it is searched. It is rendered without passwords.

    Attributes:
        scheme: name of the engine.
        place: folder; for PostgreSQL ``USER@HOST:PORT/DATABASE``, with a percent-encoded password.
        collection: name of the table, the template, or ``MODULE:NAME``.
        options: the query part.
    """

    scheme: str
    place: str
    collection: str
    options: LocationOptions

    @property
    def encoder(self) -> dict[str, Any] | None:
        """Settings for :func:`acqo_rl.retrieval.encoders.load_encoder`; ``None`` if no encoder is named."""
        names = {"revision", "query_prompt", "passage_prompt", "dimensions"}
        given = self.options.model_dump(include=names, exclude_unset=True)
        return {"model": self.options.encoder, **given} if self.options.encoder else None

    @property
    def singles(self) -> list[Address]:
        """The locations of the single indexes: of a hybrid search, those of the vectors and of the words."""
        is_hybrid = isinstance(self.options, TableOptions) and self.options.mode == "hybrid"
        changes = [{"mode": "dense"}, {"mode": "text"}] if is_hybrid else [{}]
        return [replace(self, options=self.options.model_copy(update=change)).address for change in changes]

    @property
    def shown(self) -> str:
        """The location without password and options, for messages."""
        return str(replace(self, options=LocationOptions()))

    @property
    def address(self) -> Address:
        """The location as it is given to :func:`read_location`."""
        query = urlencode(self.options.model_dump(exclude_unset=True), quote_via=quote, safe=":/")
        slashes = "//" if self.scheme == "postgresql" else ""
        address = f"{self.scheme}:{slashes}{self.place}/{self.collection}"
        return Address(f"{address}?{query}" if query else address)

    def __repr__(self) -> str:
        return str(self.address)


def is_engine(index: str | Path) -> bool:
    """Whether an index location has the form of a collection of a search engine."""
    return bool(_LOCATION.match(str(index)))


def read_location(index: str) -> Location:
    """Reads the location of a collection; the path of a folder is made absolute.

    Raises:
        ConfigError: it has another form, or an option is unknown or has a wrong value.
    """
    scheme, _, rest = whole_of(index).partition(":")
    rest, _, query = rest.partition("?")
    place, _, collection = rest.removeprefix("//").rpartition("/")
    is_database = scheme == "postgresql"
    is_complete = collection and ("/" in place or not is_database)
    if scheme not in ENGINES or not is_complete or rest.startswith("//") != is_database:
        raise ConfigError(
            f"{Address(index)!r} is not a location of a collection; write http+json:TEMPLATE.yaml,"
            " postgresql://USER@HOST:PORT/DATABASE/TABLE or langchain:MODULE:NAME."
        )
    if is_database:
        credentials, _, host_and_rest = place.rpartition("@")
        user, _, password = credentials.partition(":")
        place = f"{user}:{quote(unquote(password), safe='')}@{host_and_rest}" if password else place
    else:
        place = str(Path(place).resolve())
    location = Location(scheme, place, collection, LocationOptions())
    try:
        _ = urlsplit(f"//{place}" if is_database else "").port
    except ValueError as error:
        raise ConfigError(f"The port in {location.shown} is not a number from 0 to 65535; correct it.") from error
    form = TableOptions if is_database else LocationOptions
    try:
        return replace(location, options=form.model_validate(dict(parse_qsl(query, keep_blank_values=True))))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"The option {first['loc'][0]} of {location.shown} is {first['input']!r} ({first['msg']}); correct it."
            f" There are: {', '.join(form.model_fields)}."
        ) from error
