"""Step-back: a more general query finds background for a specific one (Zheng et al. 2023, arXiv 2310.06117)."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.reformulation.strategies.strategy import Reading, ask, read_one
from acqo_rl.types import Completion, Conversation, Query

_INSTRUCTIONS = """\
Write one search{for_domain} that is more general than the last question, in its language: the principle, the \
mechanism or the wider topic that an answer rests on. One line, nothing else."""

_EXAMPLES = (
    ("Question: Why does my sourdough collapse after a night at 28 degrees?", "temperature and dough fermentation"),
    ("Question: Could Bach have met Vivaldi in Venice?", "travels of Johann Sebastian Bach"),
)


@dataclass(frozen=True)
class StepBack:
    """Searches a more general query in addition to the raw query.

    Attributes:
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the general query.
    """

    domain: str = ""
    original_weight: float = 1.0
    weight: float = 0.8

    name = "step_back"
    version = "7"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the general query."""
        for_domain = f" of {self.domain}" if self.domain else ""
        return ask(_INSTRUCTIONS.format(for_domain=for_domain), _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads the first usable line."""
        return read_one(query, completion, "step_back", self.weight)
