"""Logs as JSON lines with the id of the request; neither queries nor keys and passwords are logged."""

import logging
import re
import sys
import threading
import uuid
from collections.abc import Hashable, Iterable

import structlog
from cachetools import TTLCache

from acqo_rl.addresses import masked
from acqo_rl.searching.result import Failure

_log = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)


def configure_logs(level: str) -> None:
    """Writes all logs of this process, including those of libraries, to stdout; progress bars use stderr.

    Args:
        level: DEBUG, INFO, WARNING or ERROR.
    """
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                structlog.stdlib.ExtraAdder(),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _for_readers,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    handler.addFilter(_once_per_minute)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("faiss", "httpx", "httpx2", "httpcore", "sentence_transformers", "transformers"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


_seen: TTLCache[Hashable, object] = TTLCache(1000, 60.0)
_lock = threading.Lock()


def _once_per_minute(record: logging.LogRecord) -> bool:
    """Whether to log a record: not a warning or error that was logged in the last minute."""
    if record.levelno < logging.WARNING:
        return True
    first_line, _, _ = record.getMessage().partition("\n")
    key = record.name, first_line, *(str(getattr(record, name, "")) for name in ("error", "frames"))
    new = object()
    with _lock:
        return _seen.setdefault(key, new) is new


def _for_readers(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Masks passwords and keys, also in messages of libraries; removes the coloured copy that Uvicorn adds."""
    shown = {key: value for key, value in event.items() if key != "color_message"}
    return {key: masked(value) if isinstance(value, str) else value for key, value in shown.items()}


def log_failures(failures: Iterable[Failure]) -> None:
    """Logs failed calls with their details, which the response does not contain."""
    for failure in failures:
        fields = {"step": failure.step, "retriever": failure.retriever, "error": failure.reason}
        _log.warning("call_failed", extra=fields)


def begin_request(given: str | None) -> str:
    """Returns the id of a request (the client's if valid, otherwise a new one) and adds it to its log lines."""
    request_id = given if given and _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)
    return request_id
