"""Candidates from teachers: language models and strategies, verified by the reward like all other candidates."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tqdm import tqdm

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import CachedReformulator, reformulator_key
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.load import PROMPTED_ONLY, load_reformulator
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.searching.names import name_reformulators
from acqo_rl.text import one_line
from acqo_rl.training.candidates import Candidate
from acqo_rl.types import Query, Reformulation, Route

_log = logging.getLogger(__name__)

_BATCH = 32
_SHOWN = 120


def name_teachers(given: Sequence[str], model: str) -> dict[str, str]:
    """Returns name -> model of each teacher.

    Args:
        given: language models to prompt (``openai:NAME@URL``), or reformulators as in
            :func:`acqo_rl.searching.names.name_reformulators`.
        model: model of the strategies that are given without one.

    Raises:
        ConfigError: a teacher is unknown or given twice.
    """
    named = [f"prompted={item}" if item.startswith(PROMPTED_ONLY) else item for item in given]
    return name_reformulators(named, model) if named else {}


def candidates_of_teachers(
    teachers: Mapping[str, str], queries: Sequence[Query], max_sub_queries: int, lexicon: Lexicon, cache: Path
) -> dict[str, list[Candidate]]:
    """Reformulates the queries with each teacher; returns query id -> candidates.

    Args:
        teachers: name -> model, see :func:`name_teachers`.
        queries: queries with the conversation and feedback that the teachers read.
        max_sub_queries: maximum number of sub-queries; further ones are dropped.
        lexicon: names of the corpus, for the rules.
        cache: file that stores the reformulations, so that a resumed run does not repeat calls.

    Raises:
        ConfigError: every call for the first queries failed.
    """
    found: dict[str, list[Candidate]] = {query.id: [] for query in queries}
    for name, model in teachers.items():
        load = partial(load_reformulator, name, model, lexicon=lexicon)
        teacher = CachedReformulator(name, load, reformulator_key(name, model, StrategySettings()), cache)
        problems: list[str] = []
        for start in tqdm(range(0, len(queries), _BATCH), desc=f"reformulate with {name}", unit="batch"):
            answers = teacher.reformulate(queries[start : start + _BATCH])
            if start == 0 and all(answer.failed_calls for answer in answers):
                raise ConfigError(
                    f"The first {len(answers)} calls of the teacher {name}={model} failed ({answers[0].problem});"
                    " check the model's server."
                )
            problems += [answer.problem for answer in answers if answer.problem is not None]
            for answer in answers:
                if candidate := _candidate(answer, name, max_sub_queries):
                    found[answer.query.id].append(candidate)
        if problems:
            count, example = len(problems), one_line(problems[0])[:_SHOWN]
            _log.warning("teacher %s: %d of %d replies cannot be used: %s", name, count, len(queries), example)
    return found


def _candidate(answer: Reformulation, name: str, max_sub_queries: int) -> Candidate | None:
    """Converts a reformulation to a route of the policy, without the raw query; ``None`` if it passes the query."""
    written = tuple(s for s in answer.sub_queries if s.kind != "original" and s.min_margin is None)[:max_sub_queries]
    route: Route = "decompose" if answer.route == "decompose" else "disambiguate"
    return Candidate(route, written, name) if written and answer.route != "pass" else None
