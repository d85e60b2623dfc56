"""One log event a reformulation, for dashboards and for those who ask what was made of their query."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from acqo_rl.types import Query, Reformulation, Reformulator, feedback_of

EVENT = "query_rewriting_completed"

_log = logging.getLogger(__name__)


class Logged:
    """A reformulator that tells of every answer at level INFO: ``EVENT``, with its figures as fields of the record.

    The fields are ``asked`` (this reformulator), ``strategy`` (the one that answered), ``query_type``,
    ``num_variants``, ``original_query_length`` (characters), ``rewriting_duration_ms`` (of the batch, divided by its
    queries), ``model_calls`` and ``failed``. Neither the query nor what was made of it is logged.
    """

    def __init__(self, reformulator: Reformulator) -> None:
        self.name = reformulator.name
        self.reformulator = reformulator
        self.feedback = feedback_of(reformulator)

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """The reformulator's own answers."""
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
