"""Reads the settings that name reformulators and indexes: ``NAME=MODEL``, ``NAME=INDEX`` and ``NAME=ONE+OTHER``."""

import re
from collections.abc import Mapping, Sequence

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import ConfigError, did_you_mean
from acqo_rl.reformulation.load import WITHOUT_MODEL, InferenceEngine, prompts_model, with_engine_prefix
from acqo_rl.retrieval.places import is_place, parts_of, split_places
from acqo_rl.searching.description import NAMED

ORIGINAL = "@original"
"""Suffix of an index that searches only the raw query."""

RERANKED = "+reranker"
"""Suffix of a fusion whose result is reordered by the reranker."""

UNNAMED = "index"
"""Name of an index that is given without one."""

_NAME = re.compile(r"\w[\w.+-]*")
_NO_NAME = re.compile(r"[^\w.-]+")


def is_model(given: str) -> bool:
    """Whether the name of a reformulator is that of a policy's model, such as ``trained:demo`` or ``outputs/mine``."""
    return ":" in given or "/" in given


def reformulator_name(given: str) -> str:
    """The name of a reformulator; the name of a policy given as a model alone is derived from the model."""
    return _NO_NAME.sub("-", given).strip("-.") if is_model(given) else given


def name_reformulators(
    given: Sequence[str], default_model: str | None, engine: InferenceEngine = "auto"
) -> dict[str, tuple[str, str]]:
    """Returns name -> the reformulator that it stands for, and its model with the prefix of its engine, if it has one.

    Args:
        given: ``NAME``, ``NAME=MODEL``, or ``NAME=OTHER`` or ``NAME=OTHER=MODEL`` for another name of a reformulator.
            A policy may be given by its model alone; its name is then derived from the model: ``trained:demo`` is named
            ``trained-demo``, ``outputs/mine/policy`` is named ``outputs-mine-policy``.
        default_model: model of the reformulators that are given without one.
        engine: see :func:`acqo_rl.reformulation.load.with_engine_prefix`.

    Raises:
        ConfigError: a name is given twice or cannot name a file, a model is missing, or a reformulator without a model
            is given one.
    """
    models: dict[str, tuple[str, str]] = {}
    for item in given:
        name, _, model = item.partition("=")
        if not model and is_model(name):
            name, model = reformulator_name(name), name
        check_name(name, models)
        other, _, of_other = model.partition("=")
        has_other_name = other in (*WITHOUT_MODEL, *NAMED) or prompts_model(other)
        kind, model = (other, of_other) if has_other_name else (name, model)
        if kind in WITHOUT_MODEL and model:
            raise ConfigError(f"{kind!r} needs no model, but {item!r} names one.")
        if kind not in WITHOUT_MODEL:
            model = model or default_model or ""
            if not model and kind not in NAMED:
                hint = did_you_mean([name], (*WITHOUT_MODEL, *NAMED, "policy", "prompted", "adaptive"))
                raise ConfigError(f"{name!r} needs a model{hint}: give {name}=MODEL or --model MODEL.")
        models[name] = kind, with_engine_prefix(kind, model, engine)
    if not models:
        raise ConfigError(
            f"No reformulator is given; choose among {', '.join(WITHOUT_MODEL)}, prompted, adaptive, policy."
        )
    return models


def name_indexes(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns name -> parts of the retriever. A part is the location of a single index, or an earlier name of one.

    Args:
        given: ``NAME=INDEX``, or ``NAME=ONE+OTHER`` of index locations or names given before. ``OTHER@original``
            searches only the raw query. One index may be given without a name; it is named ``index``. A location that
            holds several indexes stands for each of them.

    Raises:
        ConfigError: a name is given twice, unknown or cannot name a file, an index is missing, no part searches the
            sub-queries, or the list is empty.
        IndexMismatchError: the folder of a hybrid index is damaged.
    """
    indexes: dict[str, tuple[str, ...]] = {}
    for item in given:
        name, equals, what = whole_of(item).partition("=")
        if not equals or is_place(item) or not _NAME.fullmatch(name):
            name = UNNAMED
            what = whole_of(item)
        check_name(name, indexes)
        if not what:
            raise ConfigError(f"The index {name!r} has no location: give {name}=INDEX or {name}=ONE+OTHER.")
        parts = _parts(Address(item), Address(what), [name for name, made_of in indexes.items() if len(made_of) == 1])
        if all(part.endswith(ORIGINAL) for part in parts):
            raise ConfigError(f"In {item!r} nothing searches sub-queries; leave {ORIGINAL} out of one part.")
        if len(set(parts)) < len(parts):
            raise ConfigError(f"{item!r} names one index twice; a hybrid needs different indexes.")
        indexes[name] = parts
    if not indexes:
        raise ConfigError("No index is given; give one as INDEX, or several as NAME=INDEX.")
    return indexes


def _parts(item: Address, what: Address, names: Sequence[str]) -> tuple[str, ...]:
    def known(part: str) -> bool:
        return part.removesuffix(ORIGINAL) in names or is_place(part.removesuffix(ORIGINAL))

    try:
        parts = split_places(what, known)
    except ConfigError as error:
        raise ConfigError(f"{error} Single indexes given before {item!r}: {', '.join(names) or 'none'}.") from error
    if len(parts) == 1:
        return tuple(parts_of(what))
    made_of: list[str] = []
    for part in parts:
        one = part.removesuffix(ORIGINAL)
        mark = ORIGINAL if part.endswith(ORIGINAL) else ""
        made_of += [part] if one in names else [Address(f"{place.whole()}{mark}") for place in parts_of(one)]
    return tuple(made_of)


def check_name(name: str, taken: Mapping[str, object]) -> None:
    """Checks a name that is used in names of files.

    Raises:
        ConfigError: the name is taken or has characters that a file name cannot have.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot name result files; put a name of letters, digits, '_', '-', '+' and '.' before it: "
            f"NAME={name}."
        )
    if name in taken:
        raise ConfigError(f"{name!r} is given twice; give each one a distinct name: NAME=...")
