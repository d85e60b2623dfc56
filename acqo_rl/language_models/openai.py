"""Language models behind any server that speaks OpenAI's chat-completions protocol (vLLM, llama.cpp, Ollama)."""

from __future__ import annotations

import copy
import logging
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.chat import folded
from acqo_rl.language_models.remote import (
    ODD_ANSWERS,
    client_settings,
    complaint_of,
    complete_each,
    counted,
    failed,
    failed_call,
)
from acqo_rl.types import Completion, Conversation

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

logger = logging.getLogger(__name__)

_REFUSED = re.compile(
    r"unsupported|not (?:be )?(?:support|permit|accept|allow|recogni[sz]e|implement)|unknown|unrecogni[sz]ed|unexpected"
    r"|deprecated|only (?:the )?(?:default|\d)|(?:does not|doesn't|cannot) (?:take|set|use)|extra (?:inputs?|fields?)",
    re.I,
)
_SYSTEM = "system"
_OF_SYSTEM = re.compile(r"\bsystem\b.{0,20}\b(?:role|message|prompt|instruction)|\brole.{0,20}\bsystem\b", re.I)
_REFUSABLE = ("max_tokens", "temperature", "seed", "stream_options")


class OpenAIModel:
    """A model behind a server; a call that fails is told in its completion and stops no other."""

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
        """Opens a client; asks nothing yet. The key is the environment's ``OPENAI_API_KEY``.

        Args:
            name: of the model, as the server calls it.
            base_url: of the server, such as ``http://localhost:8000/v1``; by default that of
                ``OPENAI_BASE_URL``, else OpenAI's own. One that wants no key needs none.
            max_new_tokens: limit of each completion.
            temperature: 0 is greedy.
            seed: of the sampling, where the server heeds it.
            timeout: seconds that the server may take to connect, may be silent, and may take for an answer in all
                before a call has failed; each retry has as many again.
            max_retries: of a call that timed out, lost its connection, or met status 408, 409, 429 or 5xx; with
                growing pauses.
            concurrency: calls at once.

        Raises:
            ConfigError: the package ``openai`` is missing, or OpenAI's own server is asked for without a key.
        """
        try:
            import openai
        except ImportError as error:
            raise ConfigError(
                "A model behind a server needs the package openai: pip install 'acqo-rl[openai]'."
            ) from error
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY") or ("none" if base_url else None)
        if key is None:
            raise ConfigError(
                "OPENAI_API_KEY is not set: set it, or give the address of your own server: openai:NAME@URL."
            )
        self.name = name
        self._client = openai.OpenAI(
            api_key=key,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            http_client=openai.DefaultHttpxClient(**client_settings(base_url, timeout)),
        )
        self._errors = (openai.OpenAIError, *ODD_ANSWERS)
        self._concurrency = concurrency
        self._settings: dict[str, Any] = {"max_tokens": max_new_tokens, "temperature": temperature}
        self._settings["stream_options"] = {"include_usage": True}
        self._refused: set[str] = set()  # shared with the same model at other temperatures
        if seed is not None:
            self._settings["seed"] = seed

    def at_temperature(self, temperature: float) -> OpenAIModel:
        """The same model at another temperature, over the same connections."""
        other = copy.copy(self)
        other._settings = {**self._settings, "temperature": temperature}
        return other

    def generate(self, conversations: Sequence[Conversation]) -> list[Completion]:
        """One completion a conversation, position for position; a call that fails is told in its ``problem``."""
        return complete_each(self._ask, conversations, self._errors, self._concurrency)

    def stream(self, conversation: Conversation, on_text: Callable[[str], None]) -> Completion:
        """One completion, told piece by piece as the server writes it; a call that fails is told in its ``problem``."""
        text, reason, tokens, has_thoughts = "", None, 0, False
        try:
            with self._create(conversation, stream=True) as pieces:
                for piece in pieces:
                    tokens = counted(getattr(piece.usage, "completion_tokens", None)) or tokens
                    for choice in piece.choices[:1]:
                        reason = choice.finish_reason or reason
                        has_thoughts |= _has_thoughts(choice.delta)
                        if piece_text := _text_of(choice.delta.content):
                            text += piece_text
                            on_text(piece_text)
        except self._errors as error:
            return failed_call(error)
        return self._completion(text, tokens, reason, has_thoughts=has_thoughts)

    def _ask(self, conversation: Conversation) -> Completion:
        reply: ChatCompletion = self._create(conversation)
        choice = (getattr(reply, "choices", None) or [None])[0]
        message = getattr(choice, "message", None)
        text = _text_of(getattr(message, "content", None))
        tokens = counted(getattr(getattr(reply, "usage", None), "completion_tokens", None))
        reason = getattr(choice, "finish_reason", None)
        if not text and (refusal := getattr(message, "refusal", None)):
            return failed(f"the model refused: {refusal}")
        return self._completion(text, tokens, reason, has_thoughts=_has_thoughts(message), seen=str(reply)[:150])

    def _completion(
        self, text: str, tokens: int, reason: str | None, *, has_thoughts: bool, seen: str = ""
    ) -> Completion:
        if text:
            return Completion(text, tokens, finished=reason != "length")
        if reason == "length":
            return failed(f"{self._settings['max_tokens']} tokens ended before the answer began; raise max_new_tokens")
        if reason == "content_filter":
            return failed("the server's content filter stopped the answer")
        if has_thoughts:
            return failed("the model wrote thoughts and no answer")
        return failed(f"the server gave no text: {seen}" if seen else "the server gave no text")

    def _create(self, conversation: Conversation, *, stream: bool = False) -> Any:
        """A call without the settings that the server says it does not take; they are left out from then on."""
        import openai

        refused = set(self._refused)
        wanted = {"stream": True, **self._settings} if stream else _without(self._settings, {"stream_options"})
        while True:
            sent = _accepted(wanted, refused)
            try:
                messages = cast(Any, folded(conversation) if _SYSTEM in refused else conversation)
                reply = self._client.chat.completions.create(model=self.name, messages=messages, **sent)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                named = _refused_by(complaint_of(error), sent, conversation)
                if not named:
                    raise
                logger.warning("%s does not take %s", self.name, ", ".join(sorted(named)))
                refused |= named
            else:
                self._refused |= refused
                return reply


def _accepted(settings: dict[str, Any], refused: set[str]) -> dict[str, Any]:
    """The settings without those that a server refuses; newer models call ``max_tokens`` otherwise."""
    renamed = {"max_completion_tokens": settings["max_tokens"]} if "max_tokens" in refused else {}
    return {**_without(settings, refused), **renamed}


def _refused_by(complaint: str, sent: dict[str, Any], conversation: Conversation) -> set[str]:
    """The settings that a server's complaint says it does not take, and ``system`` for messages of that role."""
    if "max_tokens" in sent and "max_completion_tokens" in complaint:
        return {"max_tokens"}
    if not _REFUSED.search(complaint):
        return set()
    named = {name for name in _REFUSABLE if name in sent and re.search(rf"\b{name}\b", complaint)}
    has_system = len(conversation) > 1 and conversation[0]["role"] == _SYSTEM
    return named | ({_SYSTEM} if has_system and _OF_SYSTEM.search(complaint) else set())


def _without(settings: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _text_of(content: Any) -> str:
    """The text of a message, which some servers send in parts; parts of other kinds are thoughts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _has_thoughts(message: Any) -> bool:
    """Whether the server sends the model's thoughts apart from its text."""
    return any(getattr(message, name, None) for name in ("reasoning_content", "reasoning"))
