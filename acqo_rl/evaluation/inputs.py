"""What an evaluation is asked for, read and identified before anything is computed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acqo_rl import __version__
from acqo_rl.embedded import resolve
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import WITHOUT_MODEL, StrategySettings, asks_model, made_with
from acqo_rl.retrieval.places import is_place, parts_of, split_places
from acqo_rl.types import Qrels, Query

ORIGINAL = "@original"
"""Ends the part of a retriever that searches the raw query only."""

_NAME = re.compile(r"\w[\w.+-]*")
_IS_MODEL = re.compile(r"[:/]")
_NO_NAME = re.compile(r"[^\w.-]+")


def reformulator_name(given: str) -> str:
    """The name of a reformulator; that of a policy without one is made of its model, see :func:`name_reformulators`."""
    return _NO_NAME.sub("-", given).strip("-.") if _IS_MODEL.search(given) else given


def name_reformulators(given: Sequence[str], default_model: str | None) -> dict[str, str]:
    """Name -> model, empty for those without one.

    Args:
        given: ``NAME`` or ``NAME=MODEL``, or a policy's ``MODEL`` alone, whose name is made of it: ``trained:demo`` is
            ``trained-demo``, ``outputs/mine/policy`` is ``outputs-mine-policy``.
        default_model: model of those that are given without one.

    Raises:
        ConfigError: a name is taken twice, is no file name, lacks its model or has one that it cannot use.
    """
    models: dict[str, str] = {}
    for item in given:
        name, _, model = item.partition("=")
        if not model and _IS_MODEL.search(name):
            name, model = reformulator_name(name), name
        check_name(name, models)
        if name in WITHOUT_MODEL and model:
            raise ConfigError(f"{name!r} needs no model, but {item!r} names one.")
        if name not in WITHOUT_MODEL:
            model = model or default_model or ""
            if not model:
                raise ConfigError(f"{name!r} needs a model: give {name}=MODEL or --model MODEL.")
        models[name] = model
    if not models:
        raise ConfigError(
            f"No reformulator is given; choose among {', '.join(WITHOUT_MODEL)}, prompted, adaptive, policy."
        )
    return models


def name_retrievers(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Name -> what the retriever is made of: the places of single indexes, or names given before it.

    Args:
        given: ``NAME=INDEX``, or ``NAME=ONE+OTHER`` of indexes, or of names given before; ``OTHER@original`` searches
            the raw query only. A place that holds several indexes stands for each of them.

    Raises:
        ConfigError: a name is taken twice, unknown or no file name, an index is missing, nothing searches what a
            reformulator writes, or there is no retriever.
        IndexMismatchError: the folder of a hybrid index is damaged.
    """
    retrievers: dict[str, tuple[str, ...]] = {}
    for item in given:
        name, _, what = item.partition("=")
        check_name(name, retrievers)
        if not what:
            raise ConfigError(f"The retriever {name!r} needs an index: give {name}=INDEX or {name}=ONE+OTHER.")
        parts = _made_of(item, what, [name for name, made_of in retrievers.items() if len(made_of) == 1])
        if all(part.endswith(ORIGINAL) for part in parts):
            raise ConfigError(f"In {item!r} nothing searches sub-queries; leave {ORIGINAL} out of one part.")
        if len(set(parts)) < len(parts):
            raise ConfigError(f"{item!r} names one retriever twice; a hybrid is of different ones.")
        retrievers[name] = parts
    if not retrievers:
        raise ConfigError("No retriever is given; give one or several as NAME=INDEX.")
    return retrievers


def _made_of(item: str, what: str, names: Sequence[str]) -> tuple[str, ...]:
    def known(part: str) -> bool:
        return part.removesuffix(ORIGINAL) in names or is_place(part.removesuffix(ORIGINAL))

    try:
        parts = split_places(what, known)
    except ConfigError as error:
        raise ConfigError(f"{error} Single retrievers given before {item!r}: {', '.join(names) or 'none'}.") from error
    if len(parts) == 1:
        return tuple(parts_of(what))
    made_of: list[str] = []
    for part in parts:
        one, mark = part.removesuffix(ORIGINAL), ORIGINAL if part.endswith(ORIGINAL) else ""
        made_of += [part] if one in names else [f"{place}{mark}" for place in parts_of(one)]
    return tuple(made_of)


def check_name(name: str, taken: Mapping[str, object]) -> None:
    """Refuses names that cannot name result files, or that are taken.

    Raises:
        ConfigError: the name is one of those.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot name result files; give a name of letters, digits, '_', '-', '+' and '.' "
            f"before it: NAME={name}."
        )
    if name in taken:
        raise ConfigError(f"{name!r} is given twice; give every one its own name: NAME=...")


def fingerprint(model: str) -> str:
    """Of the files of a model folder by name, size and time of change; empty for a name that is no folder.

    A renewed model card (README.md, and export.json that records it) leaves the model what it is.
    """
    folder = Path(resolve(model) if model.startswith("trained:") else model)
    if not model or not folder.is_dir():
        return ""
    files = sorted(
        path for path in folder.iterdir() if path.is_file() and path.name not in ("README.md", "export.json")
    )
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:16]


def cache_key(name: str, model: str, settings: StrategySettings) -> str:
    """What the answers of a reformulator depend on besides the query.

    Args:
        name: as :func:`acqo_rl.reformulation.load.load_reformulator` takes it.
        model: of the reformulator; empty if it has none.
        settings: those that the reformulator reads are part of the key.
    """
    made = made_with(name, model, settings) if asks_model(name) else ""
    return f"{name} {model} {fingerprint(model)} {__version__} {made}".rstrip()


def hash_queries(queries: Sequence[Query], qrels: Qrels, metadata: Mapping[str, Mapping[str, Any]]) -> str:
    """Of texts, conversations, kinds and judgements of the queries."""
    asked = [
        (q.id, q.text, [*map(str, q.history)], metadata.get(q.id, {}).get("kind"), sorted(qrels[q.id].items()))
        for q in queries
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]
