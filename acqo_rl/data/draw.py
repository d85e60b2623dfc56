"""Draws queries, at random or by a hash of their ids, and conversations and typos for them."""

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from acqo_rl.types import Query, Turn

T = TypeVar("T")

_WORD = re.compile(r"[^\W\d_]{4,}")
_WORDS_A_TYPO = 4


def draw(queries: Sequence[T], most: int, seed: int | str) -> list[T]:
    """At most ``most`` queries, drawn at random, in their order."""
    if most >= len(queries):
        return list(queries)
    return [queries[place] for place in sorted(random.Random(seed).sample(range(len(queries)), most))]


def after_conversations(queries: Sequence[Query], talks: Sequence[tuple[Turn, ...]], seed: int) -> list[Query]:
    """Each query after a conversation that begins otherwise than its own, drawn at random; without one, left out."""
    generator = random.Random(seed)
    changed = []
    for query in queries:
        begins = query.history[:1] or (Turn("user", query.text),)
        if others := [talk for talk in talks if talk[:1] != begins]:
            changed.append(replace(query, history=generator.choice(others)))
    return changed


def split_by_hash(key: str) -> str:
    """``train``, ``dev`` or ``test`` (8 : 1 : 1), by a hash of the key."""
    drawn = int.from_bytes(hashlib.sha256(f"held out\0{key}".encode()).digest()[:7]) / 2**56
    return {0: "dev", 1: "test"}.get(int(10 * drawn), "train")


def mistype(queries: Sequence[Query], seed: int) -> list[Query]:
    """Adds a typo to every fourth word of at least four letters, and to at least one such word.

    A typo swaps two letters, or drops or doubles one. The first letter of a word is never changed.
    """
    return [replace(query, text=_mistype(query.text, random.Random(f"{seed} {query.id}"))) for query in queries]


def _mistype(text: str, chance: random.Random) -> str:
    words = list(_WORD.finditer(text))
    chosen = chance.sample(words, max(1, len(words) // _WORDS_A_TYPO)) if words else []
    for word in sorted(chosen, key=lambda match: -match.start()):
        text = f"{text[: word.start()]}{_misspell(word.group(), chance)}{text[word.end() :]}"
    return text


def _misspell(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    ways = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    ways += [word[:at] + word[at + 1] + word[at] + word[at + 2 :]] if at + 1 < len(word) else []
    return chance.choice([way for way in ways if way != word])
