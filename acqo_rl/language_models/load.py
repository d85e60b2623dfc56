"""Language models by name, as the scripts take them."""

from __future__ import annotations

from urllib.parse import urlsplit

from acqo_rl.errors import ConfigError
from acqo_rl.types import LanguageModel


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
    """The language model that a setting names.

    Args:
        name: ``openai:NAME@URL`` (any server that speaks OpenAI's protocol), ``openai:NAME`` (OpenAI's own),
            ``anthropic:NAME``; else a folder, Hub id or embedded model, which runs in this process.
        max_new_tokens: limit of each completion.
        temperature: 0 is greedy; Anthropic has none.
        seed: of the sampling; Anthropic has none.
        timeout: seconds that a server may be silent, and that an answer may take in all; each retry has as many again.
        max_retries: of a server's failed call.
        concurrency: calls of a server at once.
        batch_size: completions at once of a model in this process.

    Raises:
        ConfigError: there is no such model, its package or key is missing, or its address is no http(s) one or holds a
            password.
    """
    from acqo_rl.language_models.anthropic import AnthropicModel
    from acqo_rl.language_models.local import TransformersModel
    from acqo_rl.language_models.openai import OpenAIModel

    provider, _, rest = name.partition(":")
    if provider not in ("openai", "anthropic"):
        return TransformersModel.from_pretrained(
            name, max_new_tokens=max_new_tokens, temperature=temperature, seed=seed, batch_size=batch_size
        )
    model, _, url = rest.partition("@")
    if not model:
        raise ConfigError(f"{name!r} names no model; write openai:NAME@URL, openai:NAME or anthropic:NAME.")
    if url:
        _check_address(f"{provider}:{model}", url)
    if provider == "openai":
        return OpenAIModel(
            model,
            base_url=url or None,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            seed=seed,
            timeout=timeout,
            max_retries=max_retries,
            concurrency=concurrency,
        )
    return AnthropicModel(
        model,
        base_url=url or None,
        max_new_tokens=max_new_tokens,
        timeout=timeout,
        max_retries=max_retries,
        concurrency=concurrency,
    )


def _check_address(model: str, url: str) -> None:
    try:
        address = urlsplit(url)
        is_good = address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        is_good = False
    if not is_good:
        raise ConfigError(f"{url!r} is no address of a server; write {model}@http://HOST:PORT/v1, or https://....")
    if address.password:
        key = f"{model.partition(':')[0].upper()}_API_KEY"
        raise ConfigError(
            f"The address of {model} holds a password, and settings are written into results. Give the server's key as"
            f" {key} in the environment."
        )
