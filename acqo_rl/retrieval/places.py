"""Parses index locations: a folder, a URL, a collection of a search engine, or several of these joined by ``+``."""

import re
from collections.abc import Callable
from pathlib import Path

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.location import is_engine, read_location
from acqo_rl.retrieval.manifest import FILE_NAME, PARTS, STATE_NAME

_JOINT = re.compile(r"\+(?!json:)")
"""The sign between index locations; that of ``http+json:`` belongs to one of them."""


def is_url(index: str | Path) -> bool:
    """Whether an index location is the URL of a server."""
    return str(index).startswith(("http://", "https://"))


def folder_of(place: str | Path) -> tuple[Path, str]:
    """The folder of the present state of an index location, and the field after ``?tenant=``, or an empty text."""
    name, _, field = whole_of(place).partition("?tenant=")
    folder = Path(name)
    state = folder / STATE_NAME
    return (folder / state.read_text(encoding="utf-8").strip() if state.is_file() else folder), field


def tenant_of(place: str | Path) -> str:
    """The metadata field that holds the tenant of a document, as the location of a single index names it."""
    return read_location(str(place)).options.tenant if is_engine(place) else folder_of(place)[1]


def is_place(text: str) -> bool:
    """Whether the text is a URL, a collection of a search engine or an existing folder."""
    return is_url(text) or is_engine(text) or (bool(text) and folder_of(text)[0].exists())


def split_places(text: str | Path, known: Callable[[str], bool] = is_place) -> list[Address]:
    """Splits index locations that are joined by ``+``.

    The text is split only where both sides are known, so the first name of a folder or URL may contain a ``+``.

    Args:
        text: such as ``indexes/dense+indexes/bm25``.
        known: whether a part of the text is an index location.

    Returns:
        The locations; the whole text if it has no ``+`` or is itself an existing folder.

    Raises:
        ConfigError: the text contains a ``+``, and one of the parts is not known.
    """
    whole = whole_of(text)
    words = _JOINT.split(whole)
    if len(words) == 1 or Path(whole).exists():
        return [Address(text)]

    parts = words[:1]
    for word in words[1:]:
        if known(parts[-1]) and known(word):
            parts.append(word)
        else:
            parts[-1] += f"+{word}"
    if not all(map(known, parts)):
        unknown = next(word for word in words if not known(word))
        raise ConfigError(
            f"{Address(text)!r} joins indexes by '+', but {Address(unknown)!r} is not an index. Give existing folders"
            " or URLs of retriever servers."
        )
    return [*map(Address, parts)]


def parts_of(index: str | Path) -> list[Address]:
    """The locations of the single indexes that an index consists of; a hybrid index has more than one.

    Raises:
        ConfigError: a location joined by ``+`` does not exist, or that of a search engine is malformed.
    """
    return [part for place in split_places(index) for part in _singles(place)]


def _singles(place: Address) -> list[Address]:
    if is_engine(place):
        return read_location(place).singles
    folder, field = folder_of(place)
    parts = [folder / name for name in PARTS]
    if not any((part / FILE_NAME).is_file() for part in parts):
        return [place]
    return [Address(f"{part}?tenant={field}" if field else part) for part in parts]
