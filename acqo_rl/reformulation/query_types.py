"""Query types and challenges of English questions, by a small trained classifier; no model call is needed.

It is a logistic regression over groups of one to three words and over ends of words. ``benchmarks/query_types.py``
trains it on labelled questions and prints its confusion matrix on other ones.
"""

import re
import zlib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from acqo_rl.reformulation.languages import ENGLISH, can_read
from acqo_rl.roles import Vectors
from acqo_rl.types import Challenge, Query, QueryType, Turn

TYPES: tuple[QueryType, ...] = ("comparison", "debugging", "complex", "how_to", "conceptual", "factual", "simple")
"""The first one whose probability is at least ``LEAST`` is the type."""
CHALLENGES: tuple[Challenge, ...] = ("temporal", "multi_hop", "decomposition")
LEAST = 0.4
SURE = 1.0
"""Log-odds from which a question surely asks for several things."""
WEIGHTS = Path(__file__).with_name("query_types.npz")
FEATURES = 1 << 14
"""Number of features; each group of words has one of them by its hash."""

_READ = 1_000
"""Number of characters that are read."""
_TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[?,;:\"]")


def features_of(text: str) -> list[int]:
    """The features of a text, in order."""
    found = _TOKEN.findall(text[:_READ].replace("\u2019", "'"))
    words = ["0" * min(len(word), 4) if word[0].isdigit() else word.lower() for word in found]
    line = ["^", "^", *words, "$"]
    groups = {*words, f"#{min(len(words), 25) // 3}"}
    groups |= {" ".join(line[i : i + size]) for size in (2, 3) for i in range(3 - size, len(line) - size + 1)}
    groups |= {f"{first} _ {last}" for first, last in zip(line[1:], line[3:], strict=False)}
    groups |= {f"~{word[-size:]}" for word in words for size in (2, 3, 4, 5) if len(word) > size}
    groups |= {f"{word} {min(words.count(word), 3)} times" for word in ("and", ",", "?", "with", "or") if word in words}
    if any(word[1:] != word[1:].lower() for word in found):  # KeyError, HTTP
        groups.add("Aa")
    return sorted({zlib.crc32(group.encode()) % FEATURES for group in groups})


@cache
def _weights() -> Vectors:
    """float32[types and challenges, features and a constant]."""
    with np.load(WEIGHTS) as stored:
        weights: Vectors = stored["weights"].astype(np.float32)
    return weights


@lru_cache(4096)
def _scores(text: str) -> tuple[float, ...]:
    """The log-odds of each challenge, and a score of each type; a softmax of these gives the probabilities."""
    features = features_of(text)
    weights = _weights()
    return tuple((weights[:, features].sum(1) * len(features) ** -0.5 + weights[:, -1]).tolist())


def type_probabilities(text: str) -> dict[QueryType, float]:
    """The probability of each type."""
    odds = np.exp(_scores(text)[: len(TYPES)])
    return dict(zip(TYPES, (odds / odds.sum()).tolist(), strict=True))


def query_type_of(text: str, history: tuple[Turn, ...] = ()) -> QueryType | None:
    """The type of a question; ``None`` if the classifier is unsure, or if the question is in another language."""
    if not can_read(Query("", text, history), ENGLISH):
        return None
    return next((name for name, value in type_probabilities(text).items() if value >= LEAST), None)


def asks_several(text: str, least: float = SURE) -> bool:
    """Whether a question asks for several things that can be searched side by side, with log-odds above ``least``."""
    return _scores(text)[-1] > least


def challenges_of(text: str) -> tuple[Challenge, ...]:
    """All challenges of a question; ``("simple",)`` if there are none."""
    scores = zip(CHALLENGES, _scores(text)[len(TYPES) :], strict=True)
    return tuple(name for name, score in scores if score > 0) or ("simple",)
