"""Language models on servers with Anthropic's messages protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from acqo_rl.language_models.remote import complete_each, connect, counted, failed, seen_in, wait_for
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
            timeout: time limit in seconds for connecting, and for a pause between bytes. A call with its retries takes
                at most ``timeout`` times its maximum number of attempts.
            max_retries: retries of a call after a time-out, a lost connection, or status 408, 409, 429 or 5xx; the
                pauses grow.
            concurrency: maximum number of concurrent calls.

        Raises:
            ConfigError: the package ``anthropic`` is not installed, or the key is not set.
        """
        self.name = name
        self._client, self._errors = connect("anthropic", base_url, timeout, max_retries)
        self._seconds = timeout * (max_retries + 1)
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
            limit = self._max_new_tokens
            reply = self._client.messages.create(
                model=self.name, max_tokens=limit, system=system, messages=turns, **more
            )
            return wait_for(reply, self._seconds)  # type: ignore[no-any-return]

        if schema is None or not self._takes_format:
            return call()
        output = {"type": "json_schema", "schema": anthropic.transform_schema(dict(schema))}
        try:
            return call(output_config={"format": output})
        except anthropic.BadRequestError:
            reply = call()
            self._takes_format = False
            return reply
