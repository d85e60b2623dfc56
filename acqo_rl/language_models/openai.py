"""Language models on servers with OpenAI's chat-completions protocol (OpenAI, vLLM, llama.cpp, Ollama)."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from acqo_rl.language_models.chat import folded
from acqo_rl.language_models.remote import (
    complaint_of,
    complete_each,
    connect,
    counted,
    each_of,
    failed,
    failed_call,
    seen_in,
    wait_for,
)
from acqo_rl.language_models.structured import without_lengths
from acqo_rl.language_models.thoughts import AfterThoughts, without_thoughts
from acqo_rl.roles import SamplingModel, StreamingModel
from acqo_rl.types import Completion, Conversation, Schema

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

logger = logging.getLogger(__name__)

_SYSTEM = "system"
_FORMAT = "response_format"
_REFUSABLE = ("max_tokens", "temperature", "seed", "stream_options")


class OpenAIModel(StreamingModel, SamplingModel):
    """A model on a server. A failed call is reported in its completion and does not affect other calls."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        max_new_tokens: int = 300,
        temperature: float = 0.0,
        seed: int | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        concurrency: int = 8,
    ) -> None:
        """Creates a client without connecting. The environment variable ``OPENAI_API_KEY`` holds the API key.

        Args:
            name: name of the model on the server.
            base_url: URL of the server, such as ``http://localhost:8000/v1``; by default ``OPENAI_BASE_URL``, else the
                server of OpenAI. Other servers may need no key.
            max_new_tokens: maximum number of tokens per completion.
            temperature: sampling temperature; 0 is greedy.
            seed: sampling seed, if the server supports it.
            timeout: time limit in seconds for connecting, and for a pause between bytes. A call with its retries takes
                at most ``timeout`` times its maximum number of attempts, and a streamed reply ``timeout``.
            max_retries: retries of a call after a time-out, a lost connection, or status 408, 409, 429 or 5xx; the
                pauses grow.
            concurrency: maximum number of concurrent calls.

        Raises:
            ConfigError: the package ``openai`` is not installed, or the server of OpenAI is used without a key.
        """
        self.name = name
        self._client, self._errors = connect("openai", base_url, timeout, max_retries)
        self._timeout, self._attempts = timeout, max_retries + 1
        self._concurrency = concurrency
        self._settings: dict[str, Any] = {"max_tokens": max_new_tokens, "temperature": temperature}
        self._settings["stream_options"] = {"include_usage": True}
        self._refused: set[str] = set()  # shared by all temperatures of this model
        if seed is not None:
            self._settings["seed"] = seed

    def at_temperature(self, temperature: float) -> OpenAIModel:
        """Returns the same model at another temperature, with the same connections."""
        other = copy.copy(self)
        other._settings = {**self._settings, "temperature": temperature}
        return other

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; a failed call is reported in ``problem``.

        The schema is sent as response format, unless the server has refused one.
        """
        return complete_each(lambda talk: self._ask(talk, schema), conversations, self._errors, self._concurrency)

    def stream(self, conversation: Conversation, on_text: Callable[[str], None]) -> Completion:
        """Returns one completion and calls ``on_text`` with each piece; a failed call is reported in ``problem``."""
        text, reason, tokens = "", None, 0
        reply = AfterThoughts(on_text)
        try:
            pieces = self._create(conversation, stream=True)
            for piece in each_of(aiter(pieces), pieces.close, self._timeout):
                tokens = counted(getattr(piece.usage, "completion_tokens", None)) or tokens
                for choice in (piece.choices or [])[:1]:
                    reason = choice.finish_reason or reason
                    if piece_text := _text_of(getattr(choice.delta, "content", None)):
                        text += piece_text
                        reply.write(piece_text)
            reply.end()
        except self._errors as error:
            return failed_call(error)
        return self._completion(text, tokens, reason)

    def _ask(self, conversation: Conversation, schema: Schema | None) -> Completion:
        reply: ChatCompletion = self._create(conversation, schema)
        choice = (getattr(reply, "choices", None) or [None])[0]
        message = getattr(choice, "message", None)
        text = _text_of(getattr(message, "content", None))
        tokens = counted(getattr(getattr(reply, "usage", None), "completion_tokens", None))
        reason = getattr(choice, "finish_reason", None)
        if not text and (refusal := getattr(message, "refusal", None)):
            return failed(f"the model refused: {refusal}")
        return self._completion(text, tokens, reason, seen_in(reply))

    def _completion(self, text: str, tokens: int, reason: str | None, seen: str = "") -> Completion:
        if said := without_thoughts(text):
            return Completion(said, tokens, finished=reason != "length")
        if reason == "length":
            return failed(f"the limit of {self._settings['max_tokens']} tokens left no answer; raise max_new_tokens")
        return failed(f"the server returned no text, with the finish_reason {reason}: {text or seen}")

    def _create(self, conversation: Conversation, schema: Schema | None = None, *, stream: bool = False) -> Any:
        """Makes a call; settings that the server rejects are omitted in a retry and in all later calls.

        A format is taken to be rejected if the call succeeds without it.
        """
        import openai

        refused = set(self._refused)
        wanted = {"stream": True, **self._settings} if stream else _without(self._settings, {"stream_options"})
        if schema is not None:
            reply_schema = {"name": "reply", "strict": True, "schema": without_lengths(schema)}
            wanted[_FORMAT] = {"type": "json_schema", "json_schema": reply_schema}
        while True:
            sent = _accepted(wanted, refused)
            try:
                messages = cast(Any, folded(conversation) if _SYSTEM in refused else conversation)
                call = self._client.chat.completions.create(model=self.name, messages=messages, **sent)
                reply = wait_for(call, self._timeout * self._attempts)
            except (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError) as error:
                named = _refused_by(complaint_of(error), sent, conversation) - refused
                if not named and _FORMAT in sent and not isinstance(error, openai.InternalServerError):
                    named = {_FORMAT}
                if not named:
                    raise
                logger.warning("%s does not support %s", self.name, ", ".join(sorted(named)))
                refused |= named
            else:
                self._refused |= refused
                return reply


def _accepted(settings: dict[str, Any], refused: set[str]) -> dict[str, Any]:
    """The settings that a server accepts; newer models call ``max_tokens`` ``max_completion_tokens``."""
    renamed = {"max_completion_tokens": settings["max_tokens"]} if "max_tokens" in refused else {}
    return {**_without(settings, refused), **renamed}


def _refused_by(complaint: str, sent: dict[str, Any], conversation: Conversation) -> set[str]:
    """The settings that a server's error message names; ``system`` if it names a role that the conversation has."""
    named = {name for name in _REFUSABLE if name in sent and name in complaint}
    if "max_tokens" in sent and "max_completion_tokens" in complaint:
        named = {"max_tokens"}
    has_system = len(conversation) > 1 and conversation[0]["role"] == _SYSTEM
    if has_system and any(word in complaint.lower() for word in ("role", _SYSTEM, "developer")):
        named.add(_SYSTEM)
    return named


def _without(settings: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _text_of(content: Any) -> str:
    """The text of a message. Some servers send it in parts; parts that are not text are thoughts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("type") == "text")
    return content if isinstance(content, str) else ""
