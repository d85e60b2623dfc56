"""HyDE: search with the passage that would answer, not with the question (Gao et al. 2022, arXiv 2212.10496)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from acqo_rl.reformulation.strategies.strategy import Reading, ask, nothing_usable
from acqo_rl.replies.answers import without_preface
from acqo_rl.replies.remarks import is_refusal
from acqo_rl.replies.thoughts import without_thoughts
from acqo_rl.replies.wording import WISHES
from acqo_rl.text import normalised, one_line
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

_EXCLAMATION = re.compile(r"^(?!\w+ (?:is|are)\b)[^\W\d_]+(?:[ ,]+[^\W\d_]+){0,2}[!\uff01]\s+(?=\S)")
_LONGEST = 2_000  # characters; encoders read less
_ANNOUNCED = re.compile(r"^(?:(?:sure|certainly|of course)\b|here (?:is|are)\b)?[^.!?\n]{0,80}:\s*(?:\n|\Z)", re.I)
_DISCLAIMER = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|not sure|unable)"
    r"|i (?:do not|don't|cannot|can't|am not|could not) (?:have|know|access|provide|sure|able))\b",
    re.I,
)
_WISH = re.compile(rf"^(?:(?:i )?hope (?:this|that|it) helps\b|{WISHES})", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")


@dataclass(frozen=True)
class HyDE:
    """A hypothetical answer as a search of its own; an encoder that tells passages from queries embeds it as a passage.

    Attributes:
        domain: what the corpus is about, in words; part of the prompt.
        original_weight: of the raw query beside it; 0 leaves it out.
        weight: of the hypothetical answer.
    """

    domain: str = ""
    original_weight: float = 0.5
    weight: float = 1.5

    name = "hyde"
    version = "4"

    def conversation(self, query: Query) -> Conversation:
        """Asks for the passage."""
        for_domain = f" about {self.domain}" if self.domain else ""
        return ask(_INSTRUCTIONS.format(for_domain=for_domain), _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """The whole text, without announcement and disclaimers."""
        text = _EXCLAMATION.sub("", without_thoughts(completion.text).strip().replace("\u2019", "'"))
        text = without_preface(_ANNOUNCED.sub("", without_preface(text)))
        sentences = _SENTENCE_END.split(one_line(text)[:_LONGEST])
        told = [s for s in sentences if not (is_refusal(s) or _DISCLAIMER.search(s) or _WISH.search(s))]
        passage = " ".join(told).strip()
        if not normalised(passage):
            return nothing_usable(completion)
        return Reading((SubQuery(passage, "hypothetical", self.weight),), "expand")
