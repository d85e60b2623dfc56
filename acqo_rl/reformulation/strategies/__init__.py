"""Strategies for prompting a language model; each one consists of a prompt and a parser of the completion."""

from acqo_rl.reformulation.strategies.classify_and_rewrite import ClassifyAndRewrite
from acqo_rl.reformulation.strategies.decomposition import Decomposition
from acqo_rl.reformulation.strategies.expansion import Expansion, ExpansionForm
from acqo_rl.reformulation.strategies.hyde import HyDE
from acqo_rl.reformulation.strategies.multi_query import MultiQuery
from acqo_rl.reformulation.strategies.rewrite import Rewrite
from acqo_rl.reformulation.strategies.step_back import StepBack
from acqo_rl.reformulation.strategies.strategy import Reading, Strategy

__all__ = [
    "ClassifyAndRewrite",
    "Decomposition",
    "Expansion",
    "ExpansionForm",
    "HyDE",
    "MultiQuery",
    "Reading",
    "Rewrite",
    "StepBack",
    "Strategy",
]
