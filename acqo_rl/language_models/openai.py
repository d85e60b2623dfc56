"""Language models behind any server that speaks OpenAI's chat-completions protocol (vLLM, llama.cpp, Ollama)."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.remote import ODD_ANSWERS, answers_within, complete_each, counted, failed
from acqo_rl.types import Completion, Conversation

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

_REFUSED = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|unexpected", re.I)


class OpenAIModel:
    """A model behind a server; a call that fails is told in its completion and stops no other."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        max_new_tokens: int = 200,
        temperature: float = 0.0,
        seed: int | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        concurrency: int = 8,
    ) -> None:
        """Opens a client; asks nothing yet. The key is the environment's ``OPENAI_API_KEY``.

        Args:
            name: of the model, as the server calls it.
            base_url: of the server, such as ``http://localhost:8000/v1``; OpenAI's own by default. One that wants no
                key needs none.
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
            http_client=openai.DefaultHttpxClient(event_hooks=answers_within(timeout)),
        )
        self._errors = (openai.OpenAIError, *ODD_ANSWERS)
        self._concurrency = concurrency
        self._settings: dict[str, Any] = {"max_tokens": max_new_tokens, "temperature": temperature}
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
        text, reason, tokens = "", None, 0
        try:
            with self._create(conversation, stream=True, stream_options={"include_usage": True}) as pieces:
                for piece in pieces:
                    tokens = counted(getattr(piece.usage, "completion_tokens", None)) or tokens
                    for choice in piece.choices[:1]:
                        reason = choice.finish_reason or reason
                        if choice.delta.content:
                            text += choice.delta.content
                            on_text(choice.delta.content)
        except self._errors as error:
            return failed(f"{type(error).__name__}: {error}")
        if not text and reason == "length":
            return failed(f"{self._limit()} tokens ended before the answer began; raise max_new_tokens")
        if not text:
            return failed("the server gave no text")
        return Completion(text, tokens, finished=reason != "length")

    def _ask(self, conversation: Conversation) -> Completion:
        reply: ChatCompletion = self._create(conversation)
        choices = getattr(reply, "choices", None) or [None]
        text = getattr(getattr(choices[0], "message", None), "content", None)
        if not text and getattr(choices[0], "finish_reason", None) == "length":
            return failed(f"{self._limit()} tokens ended before the answer began; raise max_new_tokens")
        if not text or not isinstance(text, str):
            return failed(f"the server gave no text: {str(reply)[:150]}")
        tokens = counted(getattr(reply.usage, "completion_tokens", None))
        return Completion(text, tokens, finished=choices[0].finish_reason != "length")

    def _create(self, conversation: Conversation, **more: Any) -> Any:
        """A call without the settings that the server says it does not take; they are left out from then on."""
        import openai

        settings = self._settings
        while True:
            try:
                reply = self._client.chat.completions.create(
                    model=self.name, messages=cast(Any, conversation), **settings, **more
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                adapted = _adapted(settings, str(error))
                if adapted == settings:
                    raise
                settings = adapted
            else:
                self._settings = settings
                return reply

    def _limit(self) -> int:
        return int(self._settings.get("max_tokens") or self._settings["max_completion_tokens"])


def _adapted(settings: dict[str, Any], complaint: str) -> dict[str, Any]:
    """The settings without what a server's complaint says it does not take; newer models rename ``max_tokens``."""
    if "max_tokens" in settings and "max_completion_tokens" in complaint:
        others = {name: value for name, value in settings.items() if name != "max_tokens"}
        return {"max_completion_tokens": settings["max_tokens"], **others}
    if not _REFUSED.search(complaint):
        return settings
    refused = [name for name in ("temperature", "seed") if re.search(rf"\b{name}\b", complaint)]
    return {name: value for name, value in settings.items() if name not in refused}
