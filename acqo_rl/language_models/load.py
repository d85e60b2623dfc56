"""Loads language models by the names that the scripts accept."""

import re
from typing import Any
from urllib.parse import urlsplit

from acqo_rl.addresses import HIDDEN, Address
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.http_clients import checked_url
from acqo_rl.roles import LanguageModel

_WITH_URL = re.compile(r"@(?=\w+://)")
"""The sign before a URL; names may contain the same sign: "@cf/meta/llama-3.1-8b-instruct"."""


def load_language_model(
    name: str,
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    seed: int | None = None,
    timeout: float = 30.0,
    max_retries: int = 2,
    concurrency: int = 8,
    batch_size: int = 32,
) -> LanguageModel:
    """Loads a language model.

    Args:
        name: ``openai:NAME@URL`` (any server with OpenAI's protocol), ``openai:NAME`` (the server of OpenAI) or
            ``anthropic:NAME``; otherwise a folder, Hub id or ``embedded:`` name, which runs in this process.
        max_new_tokens: maximum number of tokens per completion.
        temperature: sampling temperature; 0 is greedy.
        seed: sampling seed; not used by Anthropic.
        timeout: time limit in seconds of a call; a call with N retries has N + 1 times as long.
        max_retries: retries of a failed call of a server.
        concurrency: maximum number of concurrent calls of a server.
        batch_size: batch size of a model in this process.

    Raises:
        ConfigError: the model does not exist, its package or key is missing, or its URL is not http(s) or contains a
            password.
    """
    from acqo_rl.language_models.local import TransformersModel
    from acqo_rl.language_models.server_model import ANTHROPIC, OPENAI, ServerModel

    generation: dict[str, Any] = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed}
    protocol = {one.provider: one for one in (OPENAI, ANTHROPIC)}.get(name.partition(":")[0])
    if protocol is None:
        return TransformersModel.from_pretrained(name, batch_size=batch_size, **generation)
    model, url = on_server(name)
    return ServerModel(
        model,
        protocol,
        base_url=url,
        timeout=timeout,
        max_retries=max_retries,
        concurrency=concurrency,
        **generation,
    )


def on_server(name: str) -> tuple[str, str | None]:
    """Name and URL of a model on a server, such as ``openai:NAME@URL``; ``None`` for the provider's own server.

    Raises:
        ConfigError: the name is missing, or the URL is not http(s) or contains a password.
    """
    provider, _, rest = name.partition(":")
    model, url = _WITH_URL.split(rest, maxsplit=1) if _WITH_URL.search(rest) else rest.partition("@")[::2]
    if not model:
        raise ConfigError(f"{name!r} has no model name; write {provider}:NAME@URL, or {provider}:NAME.")
    if url:
        checked_url(url)
    if url and (urlsplit(url).username or HIDDEN in Address(url)):
        raise ConfigError(
            f"The URL of {provider}:{model} contains a password or a key, but settings are written to result files. Set"
            f" the environment variable {provider.upper()}_API_KEY instead."
        )
    return model, url or None


def without_url(name: str) -> str:
    """The name of a model without the URL of its server: ``openai:NAME``."""
    return _WITH_URL.split(name, maxsplit=1)[0]
