"""HyDE: searches with a hypothetical answer passage (Gao et al. 2022, arXiv 2212.10496)."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.reformulation.strategies.strategy import Reading, ask, nothing_usable
from acqo_rl.replies.passages import read_passage
from acqo_rl.text import normalised
from acqo_rl.thoughts import without_thoughts
from acqo_rl.types import Completion, Conversation, Query, SubQuery

_INSTRUCTIONS = """\
Write the passage of a reference work{for_domain} that answers the last question, in its language: 2 to 4 plain \
sentences that state facts. No introduction, no advice, no doubt."""

_EXAMPLES = (
    (
        "Question: Why do leaves turn red in autumn?",
        "In autumn leaves stop producing chlorophyll and its green colour fades. Many trees then form anthocyanins "
        "from the sugars left in the leaf. These pigments are red, and they protect the leaf from light on cold days.",
    ),
)

_LONGEST = 2_000  # characters; encoders truncate earlier


@dataclass(frozen=True)
class HyDE:
    """Searches a hypothetical answer; encoders with a passage prompt embed it as a passage.

    Attributes:
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the hypothetical answer.
    """

    domain: str = ""
    original_weight: float = 0.5
    weight: float = 1.5

    name = "hyde"
    version = "7"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the passage."""
        for_domain = f" about {self.domain}" if self.domain else ""
        return ask(_INSTRUCTIONS.format(for_domain=for_domain), _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads the passage, without surrounding remarks."""
        passage = read_passage(without_thoughts(completion.text), query.text, _LONGEST)
        if not normalised(passage):
            return nothing_usable(completion)
        return Reading((SubQuery(passage, "hypothetical", self.weight),), "expand")
