"""Language models on servers with the protocol of OpenAI (also vLLM, llama.cpp, Ollama) or of Anthropic."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acqo_rl import time_limit
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.chat import completion_of, failed, folded
from acqo_rl.language_models.http_clients import (
    TEMPORARY,
    TOO_LATE,
    Connections,
    is_temporary,
    key_in,
    make_retrying,
)
from acqo_rl.language_models.structured import without
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Conversation, Schema

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger(__name__)

_SYSTEM = "system"
_ABOUT_ROLES = ("role", _SYSTEM, "developer")
_UNRELATED = (TEMPORARY | {401, 403}) - {500}
"""HTTP statuses that do not depend on the settings of a call."""
_CUT = ("length", "max_tokens")
"""Reasons of a completion that the token limit ended."""


@dataclass(frozen=True)
class Protocol:
    """How a kind of servers is asked.

    Attributes:
        provider: begins the environment variables ``_API_KEY`` and ``_BASE_URL``.
        url: the provider's own server.
        path: path of a call, below the URL.
        headers: makes the headers of a key.
        prompt: makes the settings of a conversation.
        form: makes the settings of replies that match a schema.
        optional: settings that are left out if a server refuses them by name.
        read: reads a reply.
    """

    provider: str
    url: str
    path: str
    headers: Callable[[str], dict[str, str]]
    prompt: Callable[[Conversation], dict[str, Any]]
    form: Callable[[Schema], dict[str, Any]]
    optional: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], Completion]


def _completion(text: str, tokens: Any, reason: str | None, fault: str) -> Completion:
    """The completion in a reply, with the reason why it ended; ``fault`` is its problem if it has no text."""
    completion = completion_of(text, max(0, tokens) if type(tokens) is int else 0, finished=reason not in _CUT)
    return completion if completion.text or completion.problem else failed(fault)


def _read_openai(reply: Mapping[str, Any]) -> Completion:
    choice = (reply.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    content = message.get("content") or ""
    if isinstance(content, list):  # parts that are not text are thoughts
        content = "".join(part["text"] for part in content if part["type"] == "text")
    tokens = (reply.get("usage") or {}).get("completion_tokens")
    refusal = message.get("refusal")
    fault = f"the model refused: {refusal}" if refusal else f"the server returned no text: {reply}"
    return _completion(content, tokens, choice.get("finish_reason"), fault)


def _read_anthropic(reply: Mapping[str, Any]) -> Completion:
    text = "".join(block["text"] for block in reply.get("content") or [] if block.get("type") == "text")
    tokens = (reply.get("usage") or {}).get("output_tokens")
    return _completion(text, tokens, reply.get("stop_reason"), f"the server returned no text: {reply}")


def _prompt_of_anthropic(conversation: Conversation) -> dict[str, Any]:
    system = "\n\n".join(m["content"] for m in conversation if m["role"] == _SYSTEM)
    return {"system": system, "messages": [m for m in conversation if m["role"] != _SYSTEM]}


def _json(schema: Schema, *unknown: str) -> dict[str, Any]:
    return {"schema": without(schema, "minLength", "maxLength", *unknown)}


OPENAI = Protocol(
    provider="openai",
    url="https://api.openai.com/v1",
    path="chat/completions",
    headers=lambda key: {"Authorization": f"Bearer {key}"},
    prompt=lambda conversation: {"messages": conversation},
    form=lambda schema: {
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, **_json(schema)}}
    },
    optional=("max_tokens", "temperature", "seed"),
    read=_read_openai,
)
ANTHROPIC = Protocol(
    provider="anthropic",
    url="https://api.anthropic.com",
    path="v1/messages",
    headers=lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
    prompt=_prompt_of_anthropic,
    form=lambda schema: {"output_config": {"format": {"type": "json_schema", **_json(schema, "minItems", "maxItems")}}},
    optional=("temperature",),
    read=_read_anthropic,
)


class ServerModel(LanguageModel):
    """A model on a server. A failed call is reported in its completion and does not affect other calls.

    A setting that the server refuses is left out in a retry and in all later calls. So is a format if a call succeeds
    without it.
    """

    def __init__(
        self,
        name: str,
        protocol: Protocol = OPENAI,
        *,
        base_url: str | None = None,
        max_new_tokens: int = 300,
        temperature: float = 0.0,
        seed: int | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        concurrency: int = 8,
    ) -> None:
        """Creates a client without connecting; it uses no proxy for a server on this machine.

        Args:
            name: name of the model on the server.
            protocol: protocol of the server.
            base_url: URL of the server, such as ``http://localhost:8000/v1``; by default that of the environment
                variable ``OPENAI_BASE_URL`` or ``ANTHROPIC_BASE_URL``, else the provider's own server.
            max_new_tokens: maximum number of tokens per completion.
            temperature: sampling temperature; 0 is greedy.
            seed: sampling seed; not used by Anthropic.
            timeout: time limit in seconds for connecting, and for a pause between bytes. A call with its retries takes
                at most ``timeout`` times its maximum number of attempts.
            max_retries: retries of a call after a lost connection, a time-out or a temporary status; the pauses grow.
            concurrency: maximum number of concurrent calls.

        Raises:
            ConfigError: a package of the extra ``remote`` is not installed, there is no key for the provider's own
                server, the URL is invalid, or a proxy in the environment cannot be used.
        """
        provider = protocol.provider.upper()
        url = base_url or os.environ.get(f"{provider}_BASE_URL")
        key = key_in(f"{provider}_API_KEY")
        if key is None and not url:
            raise ConfigError(
                f"{provider}_API_KEY is not set; set it, or give the URL of your own server:"
                f" {protocol.provider}:NAME@URL."
            )
        self.name = name
        self._protocol = protocol
        headers = protocol.headers(key) if key else {}
        self._connections = Connections(url or protocol.url, "A model on a server", timeout, headers)
        self._settings: dict[str, Any] = {"max_tokens": max_new_tokens, "temperature": temperature}
        if seed is not None and "seed" in protocol.optional:
            self._settings["seed"] = seed
        self._seconds = timeout * (max_retries + 1)
        self._concurrency = concurrency
        self._refused: set[str] = set()  # shared by all temperatures of this model
        import httpx  # open_client reports that it is missing

        odd_answers = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
        self._errors = (httpx.HTTPError, TimeoutError, *odd_answers)
        self._retrying = make_retrying(is_temporary, attempts=max_retries + 1, is_async=True)

    def with_sampling(self, temperature: float | None, max_new_tokens: int | None) -> ServerModel:
        """See the role; the connections are shared."""
        changed = {"temperature": temperature, "max_tokens": max_new_tokens}
        other = copy.copy(self)
        other._settings = self._settings | {name: value for name, value in changed.items() if value is not None}
        return other

    def close(self) -> None:
        """Closes the connections."""
        self._connections.close()

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; a failed call is reported in ``problem``.

        The schema is sent as the format of the reply, unless the server has refused one.
        """
        from tqdm import tqdm

        places = asyncio.Semaphore(self._concurrency)
        with tqdm(total=len(conversations), desc="generate", unit="completion", leave=False, delay=2) as bar:

            async def complete(conversation: Conversation) -> Completion:
                async with places:
                    completion = await self._complete(conversation, schema)
                bar.update()
                return completion

            async def complete_all() -> list[Completion]:
                return await asyncio.gather(*map(complete, conversations))

            try:
                return self._connections.run(complete_all())
            except TimeoutError as error:
                return [failed(str(error))] * len(conversations)

    async def _complete(self, conversation: Conversation, schema: Schema | None) -> Completion:
        """The completion of a call; one that failed says what the server answered, or where it is."""
        try:
            async with asyncio.timeout(min(time_limit.current().seconds, self._seconds)):
                content = (await self._accepted(conversation, schema)).content
            reply = json.loads(content)
            if not isinstance(reply, dict) or reply.get("error"):
                raise ValueError(f"the server sent {content!r}")
            return self._protocol.read(reply)
        except self._errors as error:
            response = getattr(error, "response", None)
            said = str(error) or TOO_LATE
            if response is not None:
                said = f"status {response.status_code}: {response.text}"
            elif request := getattr(error, "request", None):
                said = f"{said} ({request.url})"
            return failed(f"{type(error).__name__}: {said[:200]}")

    async def _accepted(self, conversation: Conversation, schema: Schema | None) -> httpx.Response:
        """The response to a call without the settings that the server refuses."""
        import httpx

        form = {} if schema is None else self._protocol.form(schema)
        refused = set(self._refused)
        while True:
            prompt = self._protocol.prompt(folded(conversation) if _SYSTEM in refused else conversation)
            wanted = {**self._settings, **form}
            if "max_tokens" in refused:  # newer models call it otherwise
                wanted["max_completion_tokens"] = wanted["max_tokens"]
            body = {"model": self.name, **prompt, **{k: v for k, v in wanted.items() if k not in refused}}
            try:
                response: httpx.Response = await self._retrying(
                    self._connections.send, "POST", self._protocol.path, body
                )
            except httpx.HTTPStatusError as error:
                named = self._refused_by(error.response, body, form) - refused
                if not named:
                    raise
                _log.warning("%s does not support %s", self.name, ", ".join(sorted(named)))
                refused |= named
            else:
                self._refused |= refused
                return response

    def _refused_by(self, response: httpx.Response, body: Mapping[str, Any], form: Mapping[str, Any]) -> set[str]:
        """The settings that a server's error names; the format if it names none."""
        if response.status_code in _UNRELATED:
            return set()
        named = {name for name in self._protocol.optional if name in body and name in response.text}
        if body["messages"][0]["role"] == _SYSTEM and any(word in response.text.lower() for word in _ABOUT_ROLES):
            named.add(_SYSTEM)
        return named or (set(form) if response.status_code != 500 else set())
