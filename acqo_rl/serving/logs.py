"""Logs as JSON lines; neither queries nor keys and passwords are logged."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterable
from typing import TextIO

import structlog

from acqo_rl.addresses import masked
from acqo_rl.searching.result import Failure

_log = logging.getLogger(__name__)


def configure_logs(level: str = "INFO", stream: TextIO = sys.stdout) -> None:
    """Writes all logs of this process, including those of libraries, to a stream; progress bars use stderr.

    Args:
        level: DEBUG, INFO, WARNING or ERROR.
        stream: the output stream.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _without_messages,
                _without_secrets,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpx2", "httpcore", "sentence_transformers", "transformers"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _without_messages(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Removes the copy of the message that Uvicorn adds, and the message of an exception: it may contain a query."""
    event.pop("color_message", None)
    kind, _error, trace = event.pop("exc_info", None) or (None, None, None)
    if kind:
        event.update(error=kind.__name__, frames=traceback.format_tb(trace))
    return event


def _without_secrets(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Masks passwords and keys, also in messages of libraries."""
    return {key: masked(value) if isinstance(value, str) else value for key, value in event.items()}


def log_failures(failures: Iterable[Failure]) -> None:
    """Logs failed calls with their details, which the response does not contain."""
    for failure in failures:
        fields = {"step": failure.step, "retriever": failure.retriever, "error": failure.reason}
        _log.warning("call_failed", extra=fields)
