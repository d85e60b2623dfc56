"""What was promised beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.classifier import judge_rules
from acqo_rl.evaluation.cost import Cost, cost_of
from acqo_rl.evaluation.routing import routing_of
from acqo_rl.evaluation.significance import FEWEST, Difference, paired_bootstrap
from acqo_rl.evaluation.study import Study, beside
from acqo_rl.evaluation.systems import System

Quantity = Literal["gain", "added_ms", "ms_p95", "calls", "embedded_ratio", "route_accuracy", "challenges_found"]
CLAIMS = Path(__file__).with_name("claims.yaml")


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim, and the range in which the measured value keeps it.

    Attributes:
        claim: in words.
        reformulator: whose; ``any`` is the best of all but the baseline.
        quantity: ``gain`` is the relative gain in ``measure``; ``added_ms``, ``ms_p95``, ``calls`` and
            ``embedded_ratio`` are costs, ``route_accuracy`` the share of queries on the route that they need,
            ``challenges_found`` that of the held-out labelled questions whose challenges the rules find.
        measure: of a gain.
        kind: only queries of this kind; all by default.
        fusion: of the system; the first one by default.
        against: fusion that a gain is over, with the same reformulator; by default it is over the baseline.
        low: least value that keeps the claim.
        high: greatest value that keeps it.
    """

    claim: str
    reformulator: str
    quantity: Quantity = "gain"
    measure: str = ""
    kind: str = ""
    fusion: str = ""
    against: str = ""
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and what was measured: ``None`` where it was not; the interval is that of a gain."""

    claim: Claim
    measured: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def verdict(self) -> str:
        """``holds``, ``undecided`` (as claimed, but the interval holds zero), ``does not hold``, ``not measured``."""
        if self.measured is None:
            return "not measured"
        if not self.claim.low <= self.measured <= self.claim.high:
            return "does not hold"
        return "undecided" if self.interval and self.interval[0] <= 0 <= self.interval[1] else "holds"


def read_claims(path: str | Path = CLAIMS) -> list[Claim]:
    """The claims of a YAML file: a list of mappings with the attributes of ``Claim``.

    Raises:
        ConfigError: the file is missing or is no such list.
    """
    import yaml

    try:
        claims = [Claim(**row) for row in yaml.safe_load(Path(path).read_text(encoding="utf-8"))]
        for claim in claims:
            if claim.quantity not in get_args(Quantity) or not claim.low <= claim.high:
                raise ValueError(f"{claim.claim!r} has quantity {claim.quantity!r}, range {claim.low} to {claim.high}")
        return claims
    except (OSError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} holds no list of claims ({error}); see acqo_rl/evaluation/claims.yaml.") from error


def check_claims(claims: Sequence[Claim], study: Study) -> list[Finding]:
    """Each claim beside what was measured with the first retriever."""
    return [_check(claim, study) for claim in claims]


def _check(claim: Claim, study: Study) -> Finding:
    if claim.quantity == "challenges_found":
        _, held_out = judge_rules()
        return Finding(claim, held_out.accuracy("challenges")[0])
    reference = replace(study.reference, fusion=claim.fusion or study.reference.fusion)
    names = [claim.reformulator]
    if claim.reformulator == "any":
        names = list(dict.fromkeys(s.reformulator for s in study.evaluations if s.reformulator != study.baseline))
    systems = [replace(reference, reformulator=name) for name in names]
    findings = [_measure(claim, study, system, reference) for system in systems if system in study.evaluations]
    return max(findings, key=lambda f: -math.inf if f.measured is None else f.measured, default=Finding(claim))


def _measure(claim: Claim, study: Study, system: System, reference: System) -> Finding:
    if claim.quantity == "gain":
        against = replace(system, fusion=claim.against) if claim.against else reference
        return _gain(claim, study, system, against)
    if reference not in study.evaluations:
        return Finding(claim)
    if claim.quantity == "route_accuracy":
        group = beside(study.evaluations, reference)
        routing = routing_of(study.evaluations[system], group, study.measures[0])
        return Finding(claim, routing.accuracy if routing and routing.queries >= FEWEST else None)
    value = _cost(claim, cost_of(study.evaluations[system]), cost_of(study.evaluations[reference]))
    return Finding(claim, value)


def _cost(claim: Claim, cost: Cost, baseline: Cost) -> float | None:
    if claim.quantity == "added_ms":
        return cost.ms - baseline.ms
    if claim.quantity == "embedded_ratio":
        return cost.embedded / baseline.embedded if baseline.embedded else None
    return cost.ms_p95 if claim.quantity == "ms_p95" else cost.calls


def _gain(claim: Claim, study: Study, system: System, against: System) -> Finding:
    """The mean difference and the ends of its interval, each divided by the mean of the other system."""
    if against not in study.evaluations or system == against or claim.measure not in study.measures:
        return Finding(claim)
    before, after = (
        [r.measures[claim.measure] for r in study.evaluations[s].results if claim.kind in ("", r.kind)]
        for s in (against, system)
    )
    if not sum(before) or len(before) < FEWEST:
        return Finding(claim)
    difference: Difference = paired_bootstrap(before, after)
    mean = sum(before) / len(before)
    return Finding(claim, difference.mean / mean, (difference.low / mean, difference.high / mean))
