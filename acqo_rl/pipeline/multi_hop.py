"""Multi-hop retrieval (search, ask what is missing, search for it), and self-querying (the same with several gaps)."""

from __future__ import annotations

from acqo_rl.language_models.structured import BOOLEAN, example, fields, or_none, several, text
from acqo_rl.pipeline.context import asked, numbered, question
from acqo_rl.pipeline.roles import BudgetedModel, PassageSearch
from acqo_rl.pipeline.state import Hop, Iteration, RetrievalState

_READ_CHUNKS, _READ_CHARACTERS = 8, 300

_GAP_REPLY = fields(answerable=BOOLEAN, missing=or_none(text()), next_query=or_none(text()))
_GAP = """\
Do the passages hold all that is needed to answer the question? Where something is missing, write one complete search
for it that names what the passages already tell. Do not answer the question. Reply with JSON: whether it is answerable,
what is missing and the next search, or null."""

_COMPLETE_REPLY = fields(sufficient=BOOLEAN, missing=several(text(), 5, least=0))
_COMPLETENESS = """\
Do the passages hold all that is needed to answer the question? Where something is missing, write one complete search
for each gap, the most important first. Do not answer the question. Reply with JSON: whether they are sufficient, and
the searches for what is missing."""

_FOUND = """\
Passages:
(1) Eiffel Tower: The tower stands in Paris and is 330 metres tall.

Question: How tall is the Eiffel Tower?"""
_NOT_FOUND = """\
Passages:
(1) Jaws: Jaws is a film of 1975 by Steven Spielberg.

Question: Where was the director of Jaws born?"""

_GAP_EXAMPLES = (
    (_FOUND, example(answerable=True, missing=None, next_query=None)),
    (
        _NOT_FOUND,
        example(
            answerable=False,
            missing="where Steven Spielberg was born",
            next_query="Steven Spielberg place of birth",
        ),
    ),
)
_COMPLETE_EXAMPLES = (
    (_FOUND, example(sufficient=True, missing=[])),
    (_NOT_FOUND, example(sufficient=False, missing=["Steven Spielberg place of birth"])),
)


class MultiHop:
    """Follows a chain of facts: each hop makes one model call to find the gap and one search to fill it."""

    name = "multi_hop"

    def __init__(self, search: PassageSearch, model: BudgetedModel, hops: int = 2, k: int = 3) -> None:
        """Creates the step.

        Args:
            search: searches passages.
            model: finds the gap.
            hops: maximum number of searches after the first one.
            k: passages per search.
        """
        self._search = search
        self._model = model
        self._hops = hops
        self._k = k

    def run(self, state: RetrievalState) -> None:
        """Adds hops and passages until the question is answerable, there is no new query, or the limit is reached."""
        text = state.query.text
        if not state.has_searched(text):
            self._search.search(state, f"{self.name} 1", [text], self._k)
        state.hops.append(Hop(1, text, tuple(chunk.document.id for chunk in state.ranked())))
        for number in range(2, self._hops + 2):
            gap = self._gap(state)
            if gap is None:
                return
            state.hops[-1], next_query = gap
            if not next_query:
                return
            [found] = self._search.search(state, f"{self.name} {number}", [next_query], self._k)
            state.hops.append(Hop(number, next_query, tuple(chunk.document.id for chunk in found)))
        state.trace.add(self.name, f"stopped: the limit of {self._hops} hops is reached")

    def _gap(self, state: RetrievalState) -> tuple[Hop, str] | None:
        """The last hop with its analysis, and the next query (may be empty); ``None`` without a reply of the model."""
        [reply] = self._model.ask_for(_GAP_REPLY, state, self.name, _GAP, [_seen(state)], _GAP_EXAMPLES)
        if reply is None:
            return None
        answerable, missing = reply["answerable"], reply["missing"] or ""
        next_query = "" if answerable else reply["next_query"] or missing
        last = state.hops[-1]
        hop = Hop(last.number, last.query, last.doc_ids, answerable, missing)
        if answerable:
            state.trace.add(self.name, "stopped: answerable")
        elif not next_query:
            state.misread(self.name, "the reply has no next query")
        elif state.has_searched(next_query):
            state.trace.add(self.name, f"stopped: {next_query!r} was already searched")
            next_query = ""
        return hop, next_query


class SelfQuery:
    """Searches, asks whether the passages are sufficient, and searches for the most important gap."""

    name = "self_query"

    def __init__(self, search: PassageSearch, model: BudgetedModel, iterations: int = 3, k: int = 3) -> None:
        """Creates the step.

        Args:
            search: searches passages.
            model: finds the gaps.
            iterations: maximum number of searches.
            k: passages per search.
        """
        self._search = search
        self._model = model
        self._iterations = iterations
        self._k = k

    def run(self, state: RetrievalState) -> None:
        """Adds iterations and passages until nothing is missing, there is no new gap, or the limit is reached."""
        text = state.query.text
        for number in range(1, self._iterations + 1):
            if state.has_searched(text):  # an earlier step has searched the question
                found = state.ranked()
            else:
                [found] = self._search.search(state, f"{self.name} {number}", [text], self._k)
            doc_ids = tuple(chunk.document.id for chunk in found)
            state.iterations.append(Iteration(number, text, doc_ids))
            if number == self._iterations:
                state.trace.add(self.name, f"stopped: the limit of {number} iterations is reached")
                return
            [reply] = self._model.ask_for(
                _COMPLETE_REPLY, state, self.name, _COMPLETENESS, [_seen(state)], _COMPLETE_EXAMPLES
            )
            if reply is None:
                return
            sufficient, gaps = reply["sufficient"], tuple(reply["missing"])
            state.iterations[-1] = Iteration(number, text, doc_ids, sufficient, gaps)
            new = [] if sufficient else [gap for gap in gaps if not state.has_searched(gap)]
            if not new:
                state.trace.add(self.name, "stopped: sufficient" if sufficient else "stopped: no new gap")
                return
            text = new[0]


def _seen(state: RetrievalState) -> str:
    chunks = state.ranked()[:_READ_CHUNKS]
    return f"Passages:\n{numbered(chunks, asked(state), _READ_CHARACTERS * len(chunks))}\n\n{question(state.query)}"
