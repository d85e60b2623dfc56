"""Clients of Milvus servers, and of files that this process opens (Milvus Lite)."""

from __future__ import annotations

import logging
from functools import cache
from logging.handlers import BufferingHandler
from pathlib import Path
from urllib.parse import unquote

from pymilvus import MilvusClient
from pymilvus.exceptions import ConnectionConfigException

from acqo_rl.api_keys import key_in
from acqo_rl.retrieval.engines.location import Location

TOKEN_VARIABLE = "MILVUS_TOKEN"
"""Environment variable with the token of a server, or ``USER:PASSWORD``."""

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs stacks of errors that are reported anyway


@cache
def of_file(path: str) -> MilvusClient:
    """The client of a file; one for all collections in it, because it locks the file.

    Raises:
        RuntimeError: the file cannot be opened. Milvus Lite only logs the reason.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    log, logged = logging.getLogger("milvus_lite"), BufferingHandler(1000)
    log.addHandler(logged)
    try:
        return MilvusClient(path)
    except ConnectionConfigException as error:
        reasons = [record.exc_info[1] for record in logged.buffer if record.exc_info]
        raise RuntimeError(str(reasons[0] if reasons else error.message)) from error
    finally:
        log.removeHandler(logged)


def of_server(location: Location) -> MilvusClient:
    """A client of a server."""
    tls = "https" if location.given.get("tls") == "true" else "http"
    credentials, _, host = location.place.rpartition("@")
    token = unquote(credentials) or key_in(TOKEN_VARIABLE) or ""
    return MilvusClient(f"{tls}://{host}", token=token, timeout=location.seconds)
