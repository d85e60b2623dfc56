"""Language models behind Anthropic's messages protocol."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.remote import ODD_ANSWERS, client_settings, complete_each, counted, failed
from acqo_rl.types import Completion, Conversation


class AnthropicModel:
    """A model of Anthropic; a call that fails is told in its completion and stops no other.

    The protocol has no temperature and no seed: the same prompt may be answered differently.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        max_new_tokens: int = 300,
        timeout: float = 30.0,
        max_retries: int = 2,
        concurrency: int = 8,
    ) -> None:
        """Opens a client; asks nothing yet. The key is the environment's ``ANTHROPIC_API_KEY``.

        Args:
            name: of the model.
            base_url: of the server; by default that of ``ANTHROPIC_BASE_URL``, else Anthropic's own.
            max_new_tokens: limit of each completion.
            timeout: seconds that the server may take to connect, may be silent, and may take for an answer in all
                before a call has failed; each retry has as many again.
            max_retries: of a call that timed out, lost its connection, or met status 408, 409, 429 or 5xx; with
                growing pauses.
            concurrency: calls at once.

        Raises:
            ConfigError: the package ``anthropic`` or the key is missing.
        """
        try:
            import anthropic
        except ImportError as error:
            raise ConfigError(
                "A model of Anthropic needs the package anthropic: pip install 'acqo-rl[anthropic]'."
            ) from error
        base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL")
        key = os.environ.get("ANTHROPIC_API_KEY")
        if not key:
            raise ConfigError("ANTHROPIC_API_KEY is not set: a model of Anthropic cannot be asked without it.")
        self.name = name
        self._client = anthropic.Anthropic(
            api_key=key,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            http_client=anthropic.DefaultHttpxClient(**client_settings(base_url, timeout)),
        )
        self._errors = (anthropic.AnthropicError, *ODD_ANSWERS)
        self._concurrency = concurrency
        self._max_new_tokens = max_new_tokens

    def generate(self, conversations: Sequence[Conversation]) -> list[Completion]:
        """One completion a conversation, position for position; a call that fails is told in its ``problem``."""
        return complete_each(self._ask, conversations, self._errors, self._concurrency)

    def _ask(self, conversation: Conversation) -> Completion:
        system = "\n\n".join(m["content"] for m in conversation if m["role"] == "system")
        turns = [m for m in conversation if m["role"] != "system"]
        reply = self._client.messages.create(
            model=self.name, max_tokens=self._max_new_tokens, system=system, messages=cast(Any, turns)
        )
        text = "".join(block.text for block in getattr(reply, "content", None) or [] if block.type == "text")
        if not text and getattr(reply, "stop_reason", None) == "max_tokens":
            return failed(f"{self._max_new_tokens} tokens ended before the answer began; raise max_new_tokens")
        if not text:
            return failed(f"the server gave no text: {str(reply)[:150]}")
        tokens = counted(getattr(reply.usage, "output_tokens", None))
        return Completion(text, tokens, finished=reply.stop_reason != "max_tokens")
