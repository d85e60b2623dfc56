"""HTTP calls of servers, with retries of temporary failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acqo_rl.addresses import Address
from acqo_rl.errors import MissingPackageError
from acqo_rl.loopback import checked_environment, checked_url, is_loopback

if TYPE_CHECKING:
    import httpx
    import tenacity

TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""


def connect(url: Address, key: str | None, timeout: float, what: str) -> httpx.Client:
    """A client of a server; it uses no proxy for a server on this machine.

    Args:
        url: base URL; a user and a password in it are sent by HTTP basic authentication.
        key: API key, sent as a bearer token.
        timeout: seconds to wait for one response.
        what: the kind of server, for the message.

    Raises:
        MissingPackageError: the packages of the extra ``remote`` are not installed.
        ConfigError: the URL is invalid, or a proxy in the environment cannot be used.
    """
    try:
        import httpx
        import tenacity  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            f"{what} needs the package {error.name}; run: pip install 'acqo-rl[remote]'"
        ) from error
    checked_url(url, httpx.URL)
    base_url = httpx.URL(url.whole())
    login = (base_url.username, base_url.password) if base_url.userinfo else None
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with checked_environment():
        direct = httpx.HTTPTransport() if is_loopback(url) else None  # an explicit transport ignores proxies
        return httpx.Client(
            base_url=base_url.copy_with(userinfo=b""), auth=login, timeout=timeout, headers=headers, transport=direct
        )


def retrying(attempts: int, longest_pause: float, seconds: float | None) -> tenacity.Retrying:
    """Repeats a call after a lost connection, a time-out or a temporary status.

    Args:
        attempts: maximum number of calls.
        longest_pause: maximum seconds between two attempts. The pauses grow exponentially with jitter and respect
            ``Retry-After``.
        seconds: time limit over all attempts; ``None`` means no limit.
    """
    import tenacity

    with_jitter = tenacity.wait_random_exponential(multiplier=0.1, max=longest_pause)
    in_time = [] if seconds is None else [tenacity.stop_before_delay(seconds)]
    return tenacity.Retrying(
        stop=tenacity.stop_any(tenacity.stop_after_attempt(attempts), *in_time),
        wait=lambda state: max(with_jitter(state), min(_retry_after(state), longest_pause)),
        retry=tenacity.retry_if_exception(_is_temporary),
        reraise=True,
    )


def _is_temporary(error: BaseException) -> bool:
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in TEMPORARY
    return isinstance(error, httpx.TransportError)


def _retry_after(state: Any) -> float:
    """Seconds in the ``Retry-After`` header of the last response; 0 if there is none."""
    response: httpx.Response | None = getattr(state.outcome.exception(), "response", None)
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return float(asked) if (asked.isascii() and asked.isdigit()) else 0.0
