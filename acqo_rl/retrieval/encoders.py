"""Loads encoders by the settings that an index records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.roles import Encoder

SERVER_SETTINGS = ("query_prompt", "passage_prompt", "dimensions", "batch_size")
"""Settings of an encoder on a server, besides its model."""


def is_on_server(model: str) -> bool:
    """Whether an encoder is a model on a server."""
    return model.startswith("openai:")


def load_encoder(settings: Mapping[str, Any], seconds: float | None = None) -> Encoder:
    """Loads an encoder.

    Args:
        settings: ``model`` and other arguments of ``ServerEncoder`` for ``openai:NAME@URL``, else of
            ``SentenceTransformerEncoder``.
        seconds: time limit of a call of a server. By default a call is repeated for about a minute.

    Raises:
        ConfigError: a setting does not apply to the encoder, or it cannot be loaded.
        SearchError: a server does not answer.
    """
    if not is_on_server(settings["model"]):
        return SentenceTransformerEncoder(**settings)
    from acqo_rl.retrieval.server_encoder import ServerEncoder

    if unknown := [name for name in settings if name not in ("model", *SERVER_SETTINGS)]:
        raise ConfigError(
            f"An encoder on a server has no setting {unknown[0]!r}; there are: {', '.join(SERVER_SETTINGS)}."
        )
    limits: dict[str, Any] = {} if seconds is None else {"timeout": seconds, "max_retries": 1}
    return ServerEncoder(**settings, **limits)
