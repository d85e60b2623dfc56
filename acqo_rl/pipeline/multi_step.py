"""Multi-step retrieval and answers in four modes: simple, recursive, multi-hop and self-querying."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.pipeline import context
from acqo_rl.pipeline.budget import Budget
from acqo_rl.pipeline.context import CONTEXT_CHARACTERS
from acqo_rl.pipeline.decomposition import Decomposer
from acqo_rl.pipeline.initial import InitialSearch
from acqo_rl.pipeline.multi_hop import MultiHop, SelfQuery
from acqo_rl.pipeline.pipeline import ESSENTIAL, PipelineResult, result_of
from acqo_rl.pipeline.references import ReferenceFollower
from acqo_rl.pipeline.roles import Asker, PassageSearch
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.pipeline.synthesis import ConfidenceCalibrator, Synthesizer
from acqo_rl.reformulation.classify import challenges_of
from acqo_rl.searching.searcher import AdaptiveSearcher, read_query
from acqo_rl.searching.trace import Step, Trace
from acqo_rl.text import one_line
from acqo_rl.types import Document, LanguageModel, Query, Retriever

Mode = Literal["simple", "recursive", "multi_hop", "self_query"]

_MANY_WORDS = 20
_LEADS_ON = re.compile(
    r"\brelationship between\b|\bhow (?:does|do|did|has|have) .+ (?:affect|influence|impact)|\bwhat led to\b", re.I
)


@dataclass(frozen=True, slots=True)
class MultiStepResult:
    """An answer and its sources.

    Attributes:
        answer: empty if no model wrote one.
        mode: the mode that was used.
        context: the passages as text; grouped by hop or by sub-question where the mode has them.
        retrieval_info: details of the mode: path and depth, hops, iterations or decomposition.
        state: all passages and steps, with trace, skipped steps and failures.
    """

    answer: str
    mode: Mode
    context: str
    retrieval_info: dict[str, Any]
    state: RetrievalState

    @property
    def context_length(self) -> int:
        """Number of characters of the context."""
        return len(self.context)


class MultiStepRetriever:
    """Searches in several steps, each of which may depend on the results of earlier ones."""

    def __init__(
        self,
        retriever: Retriever | AdaptiveSearcher,
        corpus: Mapping[str, Document],
        model: LanguageModel | None = None,
        *,
        searcher: AdaptiveSearcher | None = None,
        reformulation_calls: int = 1,
        max_model_calls: int = 20,
        seconds: float | None = None,
    ) -> None:
        """Creates the retriever.

        Args:
            retriever: its document ids are keys of ``corpus``.
            corpus: document id -> document.
            model: without a model, references are still followed, but there is no answer.
            searcher: see :class:`acqo_rl.pipeline.pipeline.Pipeline`.
            reformulation_calls: maximum number of model calls per reformulation of the searcher.
            max_model_calls: hard limit of model calls per question. One is reserved for the answer and, in
                :meth:`ask`, one for its grounding.
            seconds: no call starts after this time.
        """
        search, asker = PassageSearch(retriever, corpus), Asker(model)
        self._max_model_calls = max_model_calls
        self._seconds = seconds
        self._initial = InitialSearch(search, 5, searcher, reformulation_calls)
        self._begins_adaptively = searcher is not None
        self._decomposer = Decomposer(search, asker)
        self._follower = ReferenceFollower(search)
        self._multi_hop = MultiHop(search, asker)
        self._self_query = SelfQuery(search, asker)
        self._synthesizer = Synthesizer(asker)
        self._calibrator = ConfidenceCalibrator(asker, cosine=search.cosine)

    def query(self, question: Query | str, mode: Mode | Literal["auto"] = "auto") -> MultiStepResult:
        """Answers a question.

        Args:
            question: the question; a ``str`` is a query without history.
            mode: ``auto`` chooses the mode by :func:`choose_mode`.

        Raises:
            ConfigError: the question is empty, or the mode is unknown.
            SearchError: there are no passages because searches failed.
        """
        return self._answer(question, mode, 1, Trace())

    def ask(
        self,
        question: Query | str,
        on_step: Callable[[Step], None] | None = None,
        on_text: Callable[[str], None] | None = None,
        *,
        mode: Mode | Literal["auto"] = "auto",
        context: str = "",
    ) -> PipelineResult:
        """Answers a question and checks the claims of the answer with one more model call, like a pipeline.

        Args:
            question: the question; a ``str`` is a query without history.
            on_step: called with each step when it ends.
            on_text: called with each piece of the answer, if the model can stream.
            mode: as in :meth:`query`; the result reports the mode as its strategy.
            context: information about the user; a first search with a searcher appends it to the sub-queries of the
                route ``disambiguate``.

        Raises:
            ConfigError: the question is empty, or the mode is unknown.
            SearchError: there are no passages because searches failed.
        """
        result = self._answer(question, mode, ESSENTIAL, Trace(on_step), on_text, context)
        self._calibrator.run(result.state)
        return result_of(result.state, (result.mode,))

    def _answer(
        self,
        question: Query | str,
        mode: Mode | Literal["auto"],
        reserved: int,
        trace: Trace,
        on_text: Callable[[str], None] | None = None,
        context: str = "",
    ) -> MultiStepResult:
        query = read_query(question)
        if mode not in ("auto", *get_args(Mode)):
            raise ConfigError(f"Unknown mode {mode!r}; choose auto, {', '.join(get_args(Mode))}.")
        chosen: Mode = choose_mode(query.text) if mode == "auto" else mode
        deadline = None if self._seconds is None else time.monotonic() + self._seconds
        budget = Budget(self._max_model_calls, reserved)
        state = RetrievalState(query, budget, deadline, context, trace=trace, on_text=on_text)
        self._retrieve(state, chosen)
        if "search" in state.broken and not state.chunks:
            raise SearchError(f"All searches failed ({'; '.join(state.failures)}). Check that the retriever responds.")
        self._synthesizer.run(state, _context(state, chosen, CONTEXT_CHARACTERS))
        return MultiStepResult(state.answer, chosen, _context(state, chosen), _info(state, chosen), state)

    def _retrieve(self, state: RetrievalState, mode: Mode) -> None:
        if mode == "simple" or self._begins_adaptively:
            self._initial.run(state)
        if mode == "multi_hop":
            self._multi_hop.run(state)
        elif mode == "self_query":
            self._self_query.run(state)
        elif mode == "recursive":
            self._decomposer.run(state)
            self._follower.run(state)


def choose_mode(question: str) -> Mode:
    """Chooses the mode for a question.

    ``multi_hop`` if one fact must be found before the next, or for causal relations; ``self_query`` for several
    question marks; ``recursive`` for comparisons, other questions with several needs, and long questions; otherwise
    ``simple``.
    """
    text = one_line(question)
    found = challenges_of(text)
    if "multi_hop" in found or _LEADS_ON.search(text):
        return "multi_hop"
    if text.count("?") > 1:
        return "self_query"
    return "recursive" if "decomposition" in found or len(text.split()) > _MANY_WORDS else "simple"


def _context(state: RetrievalState, mode: Mode, characters: int | None = None) -> str:
    if mode == "multi_hop":
        return context.hops(state, characters)
    if mode == "recursive" and len(state.sub_questions) > 1:
        followed = [d for step in state.path if step.action == "aggregate" for d in step.doc_ids]
        chunks = [state.chunks[doc_id] for doc_id in followed]
        parts = [context.sub_questions(state, characters), context.best(state, chunks, characters)]
        return "\n\n===\n\n".join(part for part in parts if part)
    return context.best(state, state.ranked(), characters)


def _info(state: RetrievalState, mode: Mode) -> dict[str, Any]:
    info: dict[str, Any] = {"mode": mode, "total_documents": len(state.chunks), "model_calls": state.budget.used}
    if mode == "multi_hop":
        info |= {"hops": state.hops, "total_hops": len(state.hops)}
    elif mode == "self_query":
        info |= {"iterations": state.iterations, "total_iterations": len(state.iterations)}
    elif mode == "recursive":
        depths = [step.depth for step in state.path if step.action in ("retrieve", "follow_reference")]
        info |= {
            "decomposition": state.sub_questions,
            "retrieval_path": state.path,
            "depth_reached": max(depths, default=0),
            "total_retrieval_steps": len(state.sub_questions) + len(depths),
        }
    return info
