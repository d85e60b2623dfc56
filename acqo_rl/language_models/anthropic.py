"""Language models on servers with Anthropic's messages protocol."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from acqo_rl.api_keys import key_in
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.loopback import checked_environment
from acqo_rl.language_models.remote import (
    ODD_ANSWERS,
    client_settings,
    complete_each,
    counted,
    failed,
    seen_in,
    wait_for,
)
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Conversation, Schema

if TYPE_CHECKING:
    from anthropic.types import Message


class AnthropicModel(LanguageModel):
    """A model of Anthropic. A failed call is reported in its completion and does not affect other calls.

    Temperature and seed are not sent, so the same prompt may give different completions.
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
        """Creates a client without connecting. The environment variable ``ANTHROPIC_API_KEY`` holds the API key.

        Args:
            name: name of the model.
            base_url: URL of the server; by default ``ANTHROPIC_BASE_URL``, else the server of Anthropic.
            max_new_tokens: maximum number of tokens per completion.
            timeout: time limit in seconds for connecting, for a pause between bytes, and for the whole response. Each
                retry has the same limit.
            max_retries: retries of a call after a time-out, a lost connection, or status 408, 409, 429 or 5xx; the
                pauses grow.
            concurrency: maximum number of concurrent calls.

        Raises:
            ConfigError: the package ``anthropic`` is not installed, or the key is not set.
        """
        try:
            import anthropic
        except ImportError as error:
            raise ConfigError(
                "A model of Anthropic needs the package anthropic; run: pip install 'acqo-rl[anthropic]'"
            ) from error
        base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL")
        key = key_in("ANTHROPIC_API_KEY")
        if not key:
            raise ConfigError("ANTHROPIC_API_KEY is not set; set it to use a model of Anthropic.")
        self.name = name
        with checked_environment():
            http_client = anthropic.DefaultAsyncHttpxClient(**client_settings(base_url, timeout))
        self._client = anthropic.AsyncAnthropic(
            api_key=key, base_url=base_url, timeout=timeout, max_retries=max_retries, http_client=http_client
        )
        self._errors = (anthropic.AnthropicError, *ODD_ANSWERS)
        self._concurrency = concurrency
        self._max_new_tokens = max_new_tokens
        self._takes_format = True

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; a failed call is reported in ``problem``.

        The schema is sent as output format, unless the model has refused one.
        """
        return complete_each(lambda talk: self._ask(talk, schema), conversations, self._errors, self._concurrency)

    def _ask(self, conversation: Conversation, schema: Schema | None) -> Completion:
        system = "\n\n".join(m["content"] for m in conversation if m["role"] == "system")
        turns = [m for m in conversation if m["role"] != "system"]
        reply = self._create(system, cast(Any, turns), schema)
        blocks = getattr(reply, "content", None)
        text = "".join(b.text or "" for b in blocks if b.type == "text") if isinstance(blocks, list) else ""
        if not text and getattr(reply, "stop_reason", None) == "max_tokens":
            return failed(f"the limit of {self._max_new_tokens} tokens left no answer; raise max_new_tokens")
        if not text:
            return failed(f"the server returned no text: {seen_in(reply)}")
        tokens = counted(getattr(reply.usage, "output_tokens", None))
        return Completion(text, tokens, finished=reply.stop_reason != "max_tokens")

    def _create(self, system: str, turns: Any, schema: Schema | None) -> Message:
        """Makes a call; if the model refuses the format, repeats the call without it."""
        import anthropic

        def call(**more: Any) -> Message:
            reply: Message = wait_for(
                self._client.messages.create(
                    model=self.name, max_tokens=self._max_new_tokens, system=system, messages=turns, **more
                )
            )
            return reply

        if schema is None or not self._takes_format:
            return call()
        output = {"type": "json_schema", "schema": anthropic.transform_schema(dict(schema))}
        try:
            return call(output_config={"format": output})
        except anthropic.BadRequestError:
            reply = call()
            self._takes_format = False
            return reply
