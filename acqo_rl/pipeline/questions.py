"""What a question needs: its challenges, by a classifier, for long ones also by a model; and its mode, by rules."""

import re
from dataclasses import dataclass, replace
from typing import Literal, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.structured import fields, one_of, several
from acqo_rl.pipeline.calls import BudgetedModel, Task
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.prompted import question_text
from acqo_rl.reformulation.query_types import challenges_of
from acqo_rl.text import one_line
from acqo_rl.types import Challenge

Mode = Literal["simple", "recursive", "multi_hop", "self_query"]
AnyMode = Literal["pipeline", "auto"] | Mode

CHALLENGES = Task(
    """\
What makes the question hard to answer by one search? Reply with all that apply, as JSON:
simple - nothing
temporal - it asks for the newest, or for a time
multi_hop - something has to be found first, before the rest can be searched
decomposition - it asks several things that can be searched side by side""",
    fields(challenges=several(one_of(*get_args(Challenge)), len(get_args(Challenge)))),
    (
        ("Question: How tall is the Eiffel Tower?", {"challenges": ["simple"]}),
        (
            "Question: Who is the newest member of the band that recorded the bass line of Thriller?",
            {"challenges": ["temporal", "multi_hop"]},
        ),
    ),
)

_MANY_WORDS, _SOME_WORDS = 20, 12
"""A model determines the challenges of longer questions; the second number holds if the rules found none."""
_LEADS_ON = re.compile(
    r"\brelationship between\b|\bhow (?:does|do|did|has|have) .+ (?:affect|influence|impact)|\bwhat led to\b", re.I
)


@dataclass(frozen=True)
class Analyzer:
    """Determines the challenges of a question by the trained classifier, and those of long questions by a model too."""

    model: BudgetedModel

    name = "analyzer"

    def run(self, state: RetrievalState) -> RetrievalState:
        """Sets the challenges of the state; makes one model call for a long question."""
        text = one_line(state.query.text)
        found: set[Challenge] = set(challenges_of(text)) - {"simple"}
        if len(text.split()) > (_MANY_WORDS if found else _SOME_WORDS):
            [reply] = self.model.ask(state, self.name, CHALLENGES, [question_text(state.query)])
            found.update(reply["challenges"] if reply else ())
        challenges = tuple(c for c in get_args(Challenge) if c in found and c != "simple") or ("simple",)
        state.journal.trace.add(self.name, ", ".join(challenges))
        return replace(state, challenges=challenges)


def read_mode(mode: AnyMode, question: str) -> Mode | None:
    """The mode that fixes the steps for a question; ``None`` for ``pipeline``.

    ``auto`` is ``multi_hop`` if one fact must be found before the next, or for causal relations; ``self_query`` for
    several question marks; ``recursive`` for comparisons, other questions with several needs, and long questions;
    otherwise ``simple``.

    Raises:
        ConfigError: the mode is unknown.
    """
    if mode == "pipeline":
        return None
    if mode != "auto":
        if mode not in get_args(Mode):
            raise ConfigError(f"Unknown mode {mode!r}; choose pipeline, auto, {', '.join(get_args(Mode))}.")
        return mode
    text = one_line(question)
    found = challenges_of(text)
    if "multi_hop" in found or _LEADS_ON.search(text):
        return "multi_hop"
    if text.count("?") > 1:
        return "self_query"
    return "recursive" if "decomposition" in found or len(text.split()) > _MANY_WORDS else "simple"
