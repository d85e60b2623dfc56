"""Logs one event per reformulation, for dashboards and debugging."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation

EVENT = "query_rewriting_completed"

_log = logging.getLogger(__name__)


class Logged(Reformulator):
    """A reformulator that logs ``EVENT`` at level INFO for every reformulation.

    The fields of the log record are ``asked`` (this reformulator), ``strategy`` (the reformulator that answered),
    ``query_type``, ``num_variants``, ``original_query_length`` (characters), ``rewriting_duration_ms`` (mean per query
    of the batch), ``model_calls`` and ``failed``. Queries and sub-queries are not logged.
    """

    def __init__(self, reformulator: Reformulator) -> None:
        self.name = reformulator.name
        self.reformulator = reformulator
        self.feedback = reformulator.feedback

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns the reformulator's results unchanged and logs them."""
        begin = time.perf_counter()
        answers = self.reformulator.reformulate(queries)
        milliseconds = 1000 * (time.perf_counter() - begin) / max(len(queries), 1)
        for answer in answers:
            _log.info(EVENT, extra={"asked": self.name, **_fields(answer, milliseconds)})
        return answers


def _fields(answer: Reformulation, milliseconds: float) -> dict[str, str | float | None]:
    return {
        "strategy": answer.made_by,
        "query_type": answer.query_type,
        "num_variants": len(answer.sub_queries),
        "original_query_length": len(answer.query.text),
        "rewriting_duration_ms": milliseconds,
        "model_calls": answer.calls,
        "failed": answer.problem is not None,
    }
