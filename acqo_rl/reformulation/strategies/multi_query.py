"""Multi-query: several wordings of the same need, so that the result depends less on one wording."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.reformulation.strategies.strategy import Reading, ask, nothing_usable
from acqo_rl.replies.lists import read_list
from acqo_rl.text import text_of
from acqo_rl.types import Completion, Conversation, Query, SubQuery

_INSTRUCTIONS = """\
You write search queries{for_domain}. Write {variants} searches for the last question, one a line, nothing else.
Keep its meaning and its language. Each is complete in itself and takes another angle: other words, a property or \
number that the answer would state, the situation it arises in.{translate}"""

_EXAMPLES = (
    (
        "Question: Which bike for a hilly commute?",
        "lightweight commuter bicycle with low gears\nbest bicycle for steep hills in the city\n"
        "electric bike hill climbing range and motor torque",
    ),
)


@dataclass(frozen=True)
class MultiQuery:
    """Several wordings of one need (RAG-Fusion).

    Attributes:
        variants: maximum number of sub-queries.
        domain: topic of the corpus, in words ("a chemical plant's safety manuals"); part of the prompt.
        translate_to: language of the last variant; empty for no translation.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of each variant.
    """

    variants: int = 3
    domain: str = ""
    translate_to: str = ""
    original_weight: float = 1.0
    weight: float = 0.8

    name = "multi_query"
    version = "7"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the variants."""
        instructions = _INSTRUCTIONS.format(
            for_domain=f" for {self.domain}" if self.domain else "",
            variants=self.variants,
            translate=f" Write the last one in {self.translate_to}." if self.translate_to else "",
        )
        return ask(instructions, _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads one variant per line."""
        lines = read_list(completion, self.variants, read=text_of(query))
        if not lines:
            return nothing_usable(completion)
        return Reading(tuple(SubQuery(line, "variant", self.weight) for line in lines), "expand")
