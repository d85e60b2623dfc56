"""Calls of servers with JSON answers, with retries of temporary failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from acqo_rl.addresses import Address
from acqo_rl.errors import SearchError
from acqo_rl.language_models.http_clients import Connections, is_busy, is_temporary, make_retrying

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_LONGEST_PAUSE = 30.0  # seconds
_LONGEST_ATTEMPT = 60.0
"""Seconds after which an attempt ends, even if its answer still drips in."""


class ServerError(SearchError):
    """A server did not answer, or answered with an error.

    Attributes:
        status: HTTP status; ``None`` if there was no answer.
    """

    def __init__(self, *args: object, public: str, status: int | None = None) -> None:
        super().__init__(*args, public=public)
        self.status = status


class Server:
    """A server. Thread-safe. The connections are closed with the last reference to it.

    A call is retried after a lost connection, a time-out or a temporary status.

    Attributes:
        url: its base URL.
    """

    def __init__(
        self,
        url: str,
        what: str,
        key: str | None = None,
        seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Creates a client without connecting; it uses no proxy for a server on this machine.

        Args:
            url: base URL; a user and a password in it are sent by HTTP basic authentication.
            what: kind of the server, for messages.
            key: API key, sent as a bearer token.
            seconds: time limit of a call over all attempts. By default a call is repeated for about a minute, so that a
                training run survives a restart of the server.
            headers: further headers of all calls.
            timeout: time limit of each attempt; by default a minute, and half a minute for a pause.

        Raises:
            MissingPackageError: the packages of the extra ``remote`` are not installed.
            ConfigError: the URL is invalid, or a proxy in the environment cannot be used.
        """
        self.url = Address(url).removesuffix("/")
        self._what = what
        self._seconds = seconds
        self._retrying = make_retrying(is_temporary, seconds, is_async=True)
        self._timeout = timeout or _LONGEST_ATTEMPT
        headers = {**(headers or {}), **({"Authorization": f"Bearer {key}"} if key else {})}
        self._connections = Connections(self.url, what, timeout or _LONGEST_PAUSE, headers)

    def call(
        self,
        method: str,
        path: str,
        read: Callable[[Any], T],
        body: Any = None,
        *,
        is_first: bool = False,
        most: int = 0,
    ) -> T:
        """The answer to a call.

        Args:
            method: HTTP method.
            path: below the base URL.
            read: turns the JSON of the answer into the result.
            body: JSON of the request; bytes are sent as they are, as JSON lines.
            is_first: retry only after a status, so that a server that does not run is reported before work begins.
            most: maximum number of bytes of the answer, if the call asks for more than a few megabytes.

        Raises:
            ServerError: the server does not respond, rejects the call or sends an answer that cannot be read.
        """
        import httpx
        import tenacity

        retrying = self._retrying.copy(retry=tenacity.retry_if_exception(is_busy)) if is_first else self._retrying
        response: httpx.Response | None = None
        try:
            response = self._connections.run(self._send(retrying, method, path, body, most))
            return read(response.json())
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ServerError(
                f"{self.url} answered {status}: {error.response.text[:200]}",
                public=f"{self._what} answered {status}.",
                status=status,
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise ServerError(
                f"{self.url} did not respond ({type(error).__name__}: {error}); check that it is running,"
                " and HTTP_PROXY and NO_PROXY if they are set.",
                public=f"{self._what} did not respond.",
            ) from error
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ServerError(
                f"{self.url} sent an answer that cannot be read ({error!r}); check that it is the right server, of a"
                f" version that fits. It begins: {response.text[:200] if response else ''}",
                public=f"{self._what} sent an answer that cannot be read.",
                status=response.status_code if response else None,
            ) from error

    async def _send(self, retrying: Any, method: str, path: str, body: Any, most: int) -> httpx.Response:
        """The answer to a call within the time limit of all attempts."""

        async def attempt() -> httpx.Response:
            async with asyncio.timeout(self._timeout):
                return await self._connections.send(method, path, body, most)

        async with asyncio.timeout(self._seconds):
            response: httpx.Response = await retrying(attempt)
        return response
