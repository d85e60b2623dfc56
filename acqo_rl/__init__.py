"""Train a small language model to rewrite search queries where that improves retrieval, and serve it.

    from acqo_rl import AdaptiveSearcher, Policy, RankScoreFusion, load_retriever

    policy = Policy.from_pretrained("trained:demo")
    searcher = AdaptiveSearcher(policy, load_retriever("indexes/mine"), RankScoreFusion())
    print(searcher.search("Compare the populations of Oslo and Bergen").fused.doc_ids)

The names below are imported when they are first used, so that ``import acqo_rl`` is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acqo_rl.conversations import read_history as read_history
    from acqo_rl.data.beir import read_corpus as read_corpus
    from acqo_rl.evaluation.run import evaluate as evaluate
    from acqo_rl.fusion import RankScoreFusion as RankScoreFusion
    from acqo_rl.fusion import ReciprocalRankFusion as ReciprocalRankFusion
    from acqo_rl.pipeline.pipeline import Pipeline as Pipeline
    from acqo_rl.reformulation.heuristic import Heuristic as Heuristic
    from acqo_rl.reformulation.policy import Policy as Policy
    from acqo_rl.retrieval.load import load_retriever as load_retriever
    from acqo_rl.searching.assemble import load_searcher as load_searcher
    from acqo_rl.searching.path import SearchPath as SearchPath
    from acqo_rl.searching.searcher import AdaptiveSearcher as AdaptiveSearcher
    from acqo_rl.searching.searcher import Timeouts as Timeouts
    from acqo_rl.training.rewards import Reward as Reward
    from acqo_rl.types import Document as Document
    from acqo_rl.types import Query as Query

__version__ = "0.1.0"

_MODULES = {
    "AdaptiveSearcher": "searching.searcher",
    "Document": "types",
    "Heuristic": "reformulation.heuristic",
    "Pipeline": "pipeline.pipeline",
    "Policy": "reformulation.policy",
    "Query": "types",
    "RankScoreFusion": "fusion",
    "ReciprocalRankFusion": "fusion",
    "Reward": "training.rewards",
    "SearchPath": "searching.path",
    "Timeouts": "searching.searcher",
    "evaluate": "evaluation.run",
    "load_retriever": "retrieval.load",
    "load_searcher": "searching.assemble",
    "read_corpus": "data.beir",
    "read_history": "conversations",
}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *__all__})
