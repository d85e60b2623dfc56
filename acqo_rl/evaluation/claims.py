"""Checks published claims against measured values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.labelled import judge_rules
from acqo_rl.evaluation.significance import FEWEST, Difference, paired_bootstrap
from acqo_rl.evaluation.study import Study, routing_of
from acqo_rl.evaluation.summary import Cost, cost_of
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import Table

Quantity = Literal["gain", "added_ms", "ms_p95", "calls", "embedded_ratio", "route_accuracy", "challenges_found"]
CLAIMS = Path(__file__).with_name("claims.yaml")


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim, with the range of values that confirm it.

    Attributes:
        claim: in words.
        reformulator: the system; ``any`` is the best one except the baseline.
        quantity: ``gain`` is the relative gain in ``measure``; ``added_ms``, ``ms_p95``, ``calls`` and
            ``embedded_ratio`` are costs; ``route_accuracy`` is the share of queries on the route that they need;
            ``challenges_found`` is the share of held-out labelled questions whose challenges the rules find.
        measure: of a gain.
        kind: only queries of this kind; all by default.
        fusion: of the system; the first one by default.
        against: compares with this fusion and the same reformulator, instead of the baseline.
        low: smallest value that confirms the claim.
        high: largest value that confirms it.
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
    """A claim and the measured value (``None`` if not measured), with the confidence interval of a gain."""

    claim: Claim
    measured: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def verdict(self) -> str:
        """``holds``, ``undecided`` (as claimed, but the interval contains 0), ``does not hold`` or ``not measured``."""
        if self.measured is None:
            return "not measured"
        if not self.claim.low <= self.measured <= self.claim.high:
            return "does not hold"
        return "undecided" if self.interval and self.interval[0] <= 0 <= self.interval[1] else "holds"


def read_claims(path: str | Path = CLAIMS) -> list[Claim]:
    """Reads a YAML file: a list of mappings with the attributes of ``Claim``.

    Raises:
        ConfigError: the file is missing or has other contents.
    """
    import yaml

    try:
        claims = [Claim(**row) for row in yaml.safe_load(Path(path).read_text(encoding="utf-8"))]
        for claim in claims:
            if claim.quantity not in get_args(Quantity) or not claim.low <= claim.high:
                raise ValueError(f"{claim.claim!r} has quantity {claim.quantity!r}, range {claim.low} to {claim.high}")
        return claims
    except (OSError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} has no list of claims ({error}); see acqo_rl/evaluation/claims.yaml.") from error


def check_claims(claims: Sequence[Claim], study: Study) -> list[Finding]:
    """Checks each claim with the first retriever."""
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
        group = study.with_same_retrieval(reference)
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
    """The mean difference and its confidence interval, divided by the mean of the other system."""
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


def claims_table(findings: Sequence[Finding], study: Study) -> Table:
    """One row per claim."""
    rows = tuple(
        (finding.claim.claim, finding.claim.reformulator, _value(finding), finding.verdict) for finding in findings
    )
    note = (
        f"With {study.reference.retriever} and {study.reference.fusion}, unless the claim names another fusion. Gains "
        f"are relative to {study.baseline} or to the other fusion, with a 95 % confidence interval. A claim holds if "
        "the value is in the claimed range; it is undecided if the interval also contains 0."
    )
    return Table("Claims", note, ("claim", "reformulator", "measured", "verdict"), rows, labels=2)


def _value(finding: Finding) -> str:
    if finding.measured is None:
        return "-"
    if finding.interval is not None:
        low, high = finding.interval
        return f"{finding.measured:+.1%} [{low:+.1%}, {high:+.1%}]"
    if finding.claim.quantity in ("route_accuracy", "challenges_found"):
        return f"{finding.measured:.1%}"
    return f"{finding.measured:.1f} ms" if "ms" in finding.claim.quantity else f"{finding.measured:.2f}"
