"""Where an index is: a folder, the URL of a retriever server, or several of these joined by ``+``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.retrieval.manifest import FILE_NAME, HybridSettings, read_manifest


def is_url(index: str | Path) -> bool:
    """Whether an index is behind a server."""
    return str(index).startswith(("http://", "https://"))


def is_place(text: str) -> bool:
    """Whether an index may be there: the text is a URL, or a folder that exists."""
    return is_url(text) or (bool(text) and Path(text).exists())


def split_places(text: str, known: Callable[[str], bool] = is_place) -> list[str]:
    """The places that ``+`` joins; a single one where the text holds no ``+`` or is a folder by itself.

    A ``+`` joins only what is known on both sides, so that folders and URLs may have one in their names.

    Args:
        text: such as ``indexes/dense+indexes/bm25``.
        known: whether a part of the text stands for an index.

    Raises:
        ConfigError: the text holds a ``+``, and one of the parts is not known.
    """
    if "+" not in text or Path(text).exists():
        return [text]
    if parts := split_known(text, "+", known):
        return parts
    unknown = next(word for word in text.split("+") if not known(word))
    raise ConfigError(
        f"{text!r} joins indexes by '+', but {unknown!r} is none:"
        " give folders that exist, or URLs of retriever servers."
    )


def split_known(text: str, separator: str, known: Callable[[str], bool]) -> list[str]:
    """As many known parts as a text can be split into at a separator; empty if some part is unknown in every split."""

    def split(words: Sequence[str]) -> list[str]:
        for end in range(1, len(words) + 1):
            first = separator.join(words[:end])
            if known(first):
                rest = split(words[end:])
                if rest or end == len(words):
                    return [first, *rest]
        return []

    return split(text.split(separator))


def parts_of(index: str | Path) -> list[str]:
    """The places of the single indexes that an index is made of; more than one for a hybrid index.

    Raises:
        ConfigError: places are joined by ``+``, and one of them does not exist.
        IndexMismatchError: the folder of a hybrid index is damaged, or one of its parts was replaced.
    """
    return [part for place in split_places(str(index)) for part in _in_folder(place)]


def _in_folder(place: str) -> list[str]:
    if is_url(place) or not Path(place, FILE_NAME).is_file():
        return [place]
    settings = read_manifest(Path(place)).settings
    if not isinstance(settings, HybridSettings):
        return [place]
    for name, fingerprint in settings.parts.items():
        if read_manifest(Path(place, name)).fingerprint != fingerprint:
            raise IndexMismatchError(
                f"{place}/{name} is not the index that {place} was built with; delete {place} and build it again."
            )
    return [str(Path(place, name)) for name in settings.parts]


def place_of(index: str) -> str:
    """Where an index is, whatever the working folder: URLs and absolute paths, joined by ``+``."""
    return "+".join(part if is_url(part) else str(Path(part).resolve()) for part in split_places(index))
