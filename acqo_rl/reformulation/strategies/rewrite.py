"""Rewriting: replaces the raw query by a better one (Ma et al. 2023, arXiv 2305.14283)."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.reformulation.strategies.strategy import Reading, ask, read_one
from acqo_rl.types import Completion, Conversation, Query

_INSTRUCTIONS = """\
Write the one search{for_domain} that finds what the last question asks for, in its language. Correct its spelling, \
and take names and words that fit from what stands before it: earlier turns, and lines that a first search found. \
One line, nothing else."""

_EXAMPLES = (
    ("Question: whats that brige in frisco, the red one", "Golden Gate Bridge San Francisco"),
    (
        "- Gustav Klimt: Austrian painter, born near Vienna in 1862\nQuestion: home town of The Kiss' painter",
        "Gustav Klimt birthplace",
    ),
)


@dataclass(frozen=True)
class Rewrite:
    """Replaces the raw query by a rewritten one, using feedback if there is any.

    Attributes:
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the rewritten query.
    """

    domain: str = ""
    original_weight: float = 0.0
    weight: float = 1.0

    name = "rewrite"
    version = "7"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the rewritten query."""
        for_domain = f" of {self.domain}" if self.domain else ""
        return ask(_INSTRUCTIONS.format(for_domain=for_domain), _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads the first usable line."""
        return read_one(query, completion, "variant", self.weight)
