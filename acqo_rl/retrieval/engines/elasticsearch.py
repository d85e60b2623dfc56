"""Elasticsearch."""

from __future__ import annotations

from typing import Any

import elasticsearch
from elasticsearch import helpers

from acqo_rl.api_keys import key_in
from acqo_rl.retrieval.engines.elastic import ElasticEngine
from acqo_rl.retrieval.engines.engine import COSINE
from acqo_rl.retrieval.http_calls import TEMPORARY

KEY_VARIABLE = "ELASTICSEARCH_API_KEY"
"""Environment variable with the API key."""


class ElasticsearchEngine(ElasticEngine):
    """An index of Elasticsearch."""

    errors = (elasticsearch.ApiError, elasticsearch.TransportError, helpers.BulkIndexError, ValueError)
    vector_type = "dense_vector"

    def connect(self, url: str, login: tuple[str, ...] | None, seconds: float) -> Any:
        """The client of a server."""
        key: dict[str, Any] = {"basic_auth": login} if login else {"api_key": key_in(KEY_VARIABLE)}
        return elasticsearch.Elasticsearch(url, request_timeout=seconds, max_retries=0, **key)

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        if isinstance(error, elasticsearch.ApiError):
            return error.status_code in TEMPORARY
        return isinstance(error, (elasticsearch.ConnectionError, elasticsearch.ConnectionTimeout))

    def helpers(self) -> Any:
        """The module of the client with ``bulk`` and ``scan``."""
        return helpers

    def mapping_of_vectors(self, dimension: int) -> dict[str, Any]:
        """The mapping of vectors that are compared by their cosine."""
        return {"type": self.vector_type, "dims": dimension, "index": True, "similarity": "cosine"}

    def vector_query(self, vector: list[float], k: int, conditions: list[dict[str, Any]]) -> dict[str, Any]:
        """The body of the search of one vector."""
        candidates = min(max(2 * k, 100), self.largest_k)
        knn = {"field": self._fields.vector, "query_vector": vector, "k": k, "num_candidates": candidates}
        return {"knn": {**knn, "filter": conditions} if conditions else knn}

    def dimension_and_metric(self, mapping: dict[str, Any]) -> tuple[int, str]:
        """Dimension and metric of a vector field."""
        metric = mapping.get("similarity", "cosine")
        return mapping["dims"], COSINE if metric == "cosine" else metric
