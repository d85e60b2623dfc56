"""What all models behind a server share: calls at the same time, each with its own outcome."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from acqo_rl.loopback import is_loopback
from acqo_rl.text import one_line
from acqo_rl.types import Completion, Conversation

ODD_ANSWERS = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Clients leave a body that is no JSON, or too deep, to the parser's own error, and check no shape of one that is."""
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def complete_each(
    ask: Callable[[Conversation], Completion],
    conversations: Sequence[Conversation],
    errors: tuple[type[Exception], ...],
    concurrency: int,
) -> list[Completion]:
    """One completion a conversation, position for position.

    Args:
        ask: one call of the server.
        conversations: asked at the same time, ``concurrency`` at most.
        errors: what a failed call raises; it becomes the ``problem`` of that completion alone.
        concurrency: calls at once.
    """
    from tqdm import tqdm

    def outcome(conversation: Conversation) -> Completion:
        try:
            return ask(conversation)
        except errors as error:
            return failed_call(error)

    with ThreadPoolExecutor(max(1, min(concurrency, len(conversations)))) as pool:
        waiting = pool.map(outcome, conversations)
        return list(tqdm(waiting, total=len(conversations), desc="generate", unit="completion", leave=False, delay=2))


def failed(why: str) -> Completion:
    """The completion of a call that gave no text; a key that the server's message repeats is left out."""
    for key in filter(None, map(os.environ.get, _KEYS)):
        why = why.replace(key, "***")
    return Completion("", 0, finished=False, problem=one_line(why)[:300])


def failed_call(error: Exception) -> Completion:
    """The completion of a call that raised, with the server's own reason where it gave one."""
    return failed(f"{type(error).__name__}: {complaint_of(error) or error}")


def complaint_of(error: Exception) -> str:
    """What a server says in the body of an error, whatever its shape; empty where no server answered."""
    response = getattr(error, "response", None)
    if response is None:
        return ""
    try:
        said = " ".join(dict.fromkeys(_strings(response.json())))
    except ODD_ANSWERS:
        said = one_line(response.text)
    return f"status {response.status_code}: {said}" if said else ""


def _strings(value: Any) -> Iterator[str]:
    """The texts in a value of JSON, those of messages before others."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value, key=lambda key: key not in ("message", "msg", "error", "detail", "errors")):
            yield from _strings(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def counted(tokens: Any) -> int:
    """Tokens of a completion as a server tells them, 0 where it does not count them as it should."""
    return tokens if type(tokens) is int and tokens > 0 else 0


def client_settings(url: str | None, seconds: float) -> dict[str, Any]:
    """Settings of an HTTP client (of httpx2): the end of long answers, and no proxy before a server on this machine.

    Args:
        url: of the server; ``None`` for the provider's own.
        seconds: for an answer.
    """
    import httpx2

    hooks = {"event_hooks": _answers_within(seconds)}
    return {**hooks, "transport": httpx2.HTTPTransport()} if is_loopback(url or "") else hooks


def _answers_within(seconds: float) -> dict[str, list[Callable[[Any], None]]]:
    """Event hooks for an HTTP client, which end an answer that goes on so long after its request began.

    The client's own time-out is one of silence: alone, it reads a server that sends a byte now and then for ever.
    """
    import httpx2

    class Limited(httpx2.SyncByteStream):
        def __init__(self, stream: Any, end: float) -> None:
            self._stream = stream
            self._end = end

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._stream:
                if time.monotonic() > self._end:
                    raise httpx2.ReadTimeout(f"The answer took more than {seconds:g} seconds.")
                yield piece

        def close(self) -> None:
            self._stream.close()

    def begin(request: Any) -> None:
        request.extensions["end"] = time.monotonic() + seconds

    def limit(response: Any) -> None:
        response.stream = Limited(response.stream, response.request.extensions["end"])

    return {"request": [begin], "response": [limit]}
