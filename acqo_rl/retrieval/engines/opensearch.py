"""OpenSearch with its k-NN plugin."""

from __future__ import annotations

from typing import Any

import opensearchpy
from opensearchpy import helpers

from acqo_rl.retrieval.engines.elastic import ElasticEngine
from acqo_rl.retrieval.engines.engine import COSINE
from acqo_rl.retrieval.http_calls import TEMPORARY


class OpensearchEngine(ElasticEngine):
    """An index of OpenSearch."""

    errors = (opensearchpy.exceptions.OpenSearchException, ValueError)
    vector_type = "knn_vector"

    def connect(self, url: str, login: tuple[str, ...] | None, seconds: float) -> Any:
        """The client of a server."""
        return opensearchpy.OpenSearch([url], http_auth=login, timeout=seconds, max_retries=0)

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        if isinstance(error, opensearchpy.exceptions.ConnectionError):
            return True
        return isinstance(error, opensearchpy.exceptions.TransportError) and error.status_code in TEMPORARY

    def helpers(self) -> Any:
        """The module of the client with ``bulk`` and ``scan``."""
        return helpers

    def settings(self) -> dict[str, Any]:
        """Settings of a new index."""
        return {"settings": {"index": {"knn": True}}}

    def mapping_of_vectors(self, dimension: int) -> dict[str, Any]:
        """The mapping of vectors that are compared by their cosine."""
        method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
        return {"type": self.vector_type, "dimension": dimension, "method": method}

    def vector_query(self, vector: list[float], k: int, conditions: list[dict[str, Any]]) -> dict[str, Any]:
        """The body of the search of one vector."""
        asked: dict[str, Any] = {"vector": vector, "k": k}
        if conditions:
            asked["filter"] = {"bool": {"filter": conditions}}
        return {"query": {"knn": {self._fields.vector: asked}}}

    def dimension_and_metric(self, mapping: dict[str, Any]) -> tuple[int, str]:
        """Dimension and metric of a vector field."""
        metric = mapping.get("space_type") or mapping.get("method", {}).get("space_type", "l2")
        return mapping["dimension"], COSINE if metric == "cosinesimil" else metric
