"""Keys under which results are kept: what they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acqo_rl import __version__
from acqo_rl.embedded import resolve
from acqo_rl.language_models.openvino import split_prefix
from acqo_rl.reformulation.load import StrategySettings, asks_model, made_with
from acqo_rl.types import Qrels, Query


def fingerprint(model: str) -> str:
    """Hash of the names, sizes and modification times of the files of a model folder; empty if it is not a folder.

    ``README.md`` and ``export.json`` do not count, because a new model card does not change the model.
    """
    model = split_prefix(model)[1]
    folder = Path(resolve(model) if model.startswith("trained:") else model)
    if not model or not folder.is_dir():
        return ""
    files = sorted(
        path for path in folder.iterdir() if path.is_file() and path.name not in ("README.md", "export.json")
    )
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:16]


def cache_key(name: str, model: str, settings: StrategySettings) -> str:
    """Everything except the query that affects the reformulations.

    Args:
        name: as in :func:`acqo_rl.reformulation.load.load_reformulator`.
        model: of the reformulator; empty if it has none.
        settings: only the settings that the reformulator reads enter the key.
    """
    made = made_with(name, model, settings) if asks_model(name) else ""
    return f"{name} {model} {fingerprint(model)} {__version__} {made}".rstrip()


def hash_queries(queries: Sequence[Query], qrels: Qrels, metadata: Mapping[str, Mapping[str, Any]]) -> str:
    """Hash of the texts, conversations, kinds and judgements of queries."""
    asked = [
        (q.id, q.text, [*map(str, q.history)], metadata.get(q.id, {}).get("kind"), sorted(qrels[q.id].items()))
        for q in queries
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]
