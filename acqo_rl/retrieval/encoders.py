"""Loads encoders by the settings that an index records."""

import os
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.language_models.load import on_server
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.roles import Encoder

SERVERS_VARIABLE = "ACQO_ENCODER_SERVERS"
"""Environment variable with the URLs of the encoder servers that indexes may name, separated by spaces."""


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
    from acqo_rl.retrieval.server_encoder import ServerEncoder

    served = is_on_server(settings["model"])
    known = signature(ServerEncoder if served else SentenceTransformerEncoder).parameters
    if unknown := sorted(settings.keys() - known.keys()):
        names = ", ".join(name for name in known if name not in ("model", "seconds", "device"))
        raise ConfigError(f"The encoder {settings['model']} has no setting {', '.join(unknown)}; there are: {names}.")
    return ServerEncoder(**settings, seconds=seconds) if served else SentenceTransformerEncoder(**settings)


def fitting_encoder(
    index: str | Path,
    settings: Mapping[str, Any] | None,
    fingerprint: str,
    encoder: Encoder | None = None,
    seconds: float | None = None,
) -> Encoder:
    """The encoder of an index.

    Args:
        index: the index, for messages.
        settings: as of :func:`load_encoder`, from the manifest of the index; ``None`` if it has none.
        fingerprint: of the encoder with which the index was built.
        encoder: used instead, if it is loaded already.
        seconds: as of :func:`load_encoder`.

    Raises:
        ConfigError: no encoder is known, or the index names a server that the user has not named.
        IndexMismatchError: the encoder is another one.
        SearchError: a server does not answer.
    """
    if encoder is None:
        if settings is None:
            raise ConfigError(f"{index} does not say with which encoder it was built; give the encoder.")
        _check_server(settings["model"], index)
        encoder = load_encoder(settings, seconds)
    if encoder.fingerprint != fingerprint:
        raise IndexMismatchError(
            f"{index} was built with another encoder: {settings or fingerprint}, expected"
            f" {encoder.settings or encoder.fingerprint}. If model, revision, prompts, dtype and max_length"
            " are equal, the files of the model have changed. Build an index with this encoder."
        )
    return encoder


def _check_server(model: str, index: str | Path) -> None:
    url = on_server(model)[1] if is_on_server(model) else None
    named = [*os.environ.get(SERVERS_VARIABLE, "").split(), os.environ.get("OPENAI_BASE_URL", "")]
    if url and _origin(url) not in map(_origin, named):
        raise ConfigError(
            f"{index} names the encoder server {_origin(url)}, to which queries and OPENAI_API_KEY would be sent. If"
            f" you trust this server, set the environment variable {SERVERS_VARIABLE} to {_origin(url)}."
        )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
