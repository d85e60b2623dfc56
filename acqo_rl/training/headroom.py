"""What training can gain on a set of queries, estimated from the warm start's candidates before anything is trained.

Upper bound: each query gets the candidate with the highest reward, which uses its gold documents.
Lower bound: each query gets the same form of candidate, chosen on one half of the queries and measured on the other.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acqo_rl.data.draw import after_conversations
from acqo_rl.errors import DataError
from acqo_rl.evaluation.run import Evaluation, evaluate
from acqo_rl.evaluation.significance import FEWEST, Difference
from acqo_rl.evaluation.summary import compare
from acqo_rl.evaluation.tables import interval
from acqo_rl.reformulation.pass_through import Given
from acqo_rl.searching.path import SearchPath
from acqo_rl.training.rewards import Reward
from acqo_rl.training.warm_start import ScoredCandidate, ScoredQuery
from acqo_rl.types import Qrels, Query, Reformulation, Turn

ONE_FORM, BEST = "one form", "best candidate"
LEAST_GAIN = 0.01
"""Gains of the measure below this are not worth a change, even if they are significant."""
MIN_UPPER_BOUND_GAIN = 0.1
"""Gain of the best candidates that makes training worth a try although no form helps other queries reliably."""
PASS = "pass"

Decision = Literal["train", "try", "use", "keep_raw"]


@dataclass(frozen=True)
class Headroom:
    """What each way of searching reaches.

    Attributes:
        baselines: raw query first, then the reformulators that need no training.
        bounds: ``one form`` and ``best candidate``.
        topic_changes: the baselines on the queries of :func:`change_topics`; empty without conversations.
    """

    baselines: tuple[Evaluation, ...]
    bounds: tuple[Evaluation, Evaluation]
    topic_changes: tuple[Evaluation, ...] = ()


def check_number(queries: Sequence[Query]) -> None:
    """Checks that the queries can be divided into two halves.

    Raises:
        DataError: they are too few.
    """
    if len(queries) < 2 * FEWEST:
        raise DataError(
            f"{len(queries)} queries with a relevant document were drawn; headroom divides them into two halves and "
            f"needs at least {2 * FEWEST}. Judge more queries, name another --split, or raise --limit."
        )


def change_topics(queries: Sequence[Query], seed: int) -> list[Query]:
    """The queries without a conversation, each after the conversation of another query.

    Only these are surely self-contained. A follow-up may find its gold document by its words, and mean something else
    after another conversation.

    Args:
        queries: without any conversation, nothing is returned.
        seed: of the choice of conversations.
    """
    talks = [(*query.history, Turn("user", query.text)) for query in queries if query.history]
    return after_conversations([query for query in queries if not query.history], talks, seed)


def measure_bounds(
    queries: Sequence[Query],
    qrels: Qrels,
    scored: Sequence[ScoredQuery],
    kinds: Mapping[str, str],
    reward: Reward,
    auto: SearchPath | None,
    *,
    measure: str,
    seed: int,
) -> tuple[tuple[Evaluation, Evaluation], tuple[str, str]]:
    """Measures both bounds; returns them with the forms that were chosen on the two halves.

    Args:
        queries: with the feedback that the candidates were made with.
        qrels: their gold documents.
        scored: their candidates, in the same order.
        kinds: query id -> kind.
        reward: scored the candidates.
        auto: its hops and its order follow the candidates, as they follow a policy in serving.
        measure: what is reported.
        seed: of the halves.
    """
    chosen, forms = choose_forms(scored, seed)
    best = {one.query_id: max(one.options, key=lambda option: option.reward) for one in scored}
    evaluations = []
    for name, options in ((ONE_FORM, chosen), (BEST, best)):
        given = Given(_answer(query, options[query.id], reward) for query in queries)
        path = replace(
            reward.path, reformulator=given, hops=auto.hops if auto else None, order=auto.order if auto else None
        )
        evaluations.append(evaluate(path, queries, qrels, name=name, measures=[measure], kinds=kinds))
    return (evaluations[0], evaluations[1]), forms


def _answer(query: Query, option: ScoredCandidate, reward: Reward) -> Reformulation:
    parsed = reward.grammar.parse(option.completion, query)
    return Reformulation(query, parsed.route, parsed.sub_queries, option.form, option.completion)


def choose_forms(scored: Sequence[ScoredQuery], seed: int) -> tuple[dict[str, ScoredCandidate], tuple[str, str]]:
    """Chooses a form on each half of the queries for the other half.

    Returns:
        Query id -> the option of the form that the other half chose; and the forms.
    """
    shuffled = random.Random(seed).sample(list(scored), len(scored))
    halves = shuffled[::2], shuffled[1::2]
    forms = best_form(halves[0]), best_form(halves[1])
    chosen: dict[str, ScoredCandidate] = {}
    for half, form in zip(halves, forms[::-1], strict=True):
        chosen |= {one.query_id: of_form(one, form) for one in half}
    return chosen, forms


def best_form(scored: Sequence[ScoredQuery]) -> str:
    """The form with the highest total reward, where a query without it passes; ``pass`` if no form beats passing."""
    gains: dict[str, float] = defaultdict(float, {PASS: 0.0})
    for one in scored:
        for form in {option.form for option in one.options}:
            gains[form] += of_form(one, form).reward - one.options[0].reward
    return max(sorted(gains), key=lambda form: (gains[form], form == PASS))


def of_form(scored: ScoredQuery, form: str) -> ScoredCandidate:
    """The option of a form; the raw query if there is none."""
    return next((option for option in scored.options if option.form == form), scored.options[0])


def advise(headroom: Headroom, measure: str) -> tuple[Decision, str]:
    """Decides by the differences of the measure and their 95 % intervals; see ``docs/headroom.md``.

    Returns:
        The decision, and a sentence with the reason.
    """
    raw = headroom.baselines[0]
    form, best = headroom.bounds
    lost = {one.name: _difference(one, headroom.topic_changes[0], measure) for one in headroom.topic_changes[1:]}
    lost = {name: loss for name, loss in lost.items() if loss.significant and loss.mean <= -LEAST_GAIN}
    gains = {one.name: _difference(one, raw, measure).mean for one in headroom.baselines}
    usable = (one for one in headroom.baselines if one.name not in lost or gains[one.name] + lost[one.name].mean >= 0)
    cheap = max(usable, key=lambda one: one.scores(measure).mean())
    gain = _difference(cheap, raw, measure)
    name = cheap.name
    if not _matters(gain):
        cheap = raw
        name = "the raw query"
    learned = _difference(form, cheap, measure)
    upper = _difference(best, cheap, measure)
    decision: Decision
    if _matters(learned):
        decision = "train"
        verdict = "Train"
    elif upper.mean >= MIN_UPPER_BOUND_GAIN:
        decision = "try"
        verdict = "Try training; a policy gains if it chooses well for each query"
    elif cheap is not raw:
        decision = "use"
        verdict = f"Use {name} without training"
    else:
        decision = "keep_raw"
        verdict = "Do not train; search the raw query"
    why = (
        f"{form.name}, chosen on other queries, gains {interval(learned, starred=False)} over {name}; the best "
        f"candidate of each query gains {interval(upper, starred=False)}, the upper bound."
    )
    without_training = "" if cheap is raw else f" Without training, {name} gains {interval(gain, starred=False)}."
    harm = "".join(
        f" Where the topic changes, {name} loses {interval(loss, starred=False)}"
        f"{'.' if gains[name] + loss.mean >= 0 else ', more than it gains elsewhere, so it is not advised.'}"
        for name, loss in lost.items()
    )
    return decision, f"{verdict}: {why}{without_training}{harm}"


def _difference(system: Evaluation, baseline: Evaluation, measure: str) -> Difference:
    return compare(system, baseline, [measure]).differences[measure]


def _matters(difference: Difference) -> bool:
    return difference.significant and difference.mean >= LEAST_GAIN
