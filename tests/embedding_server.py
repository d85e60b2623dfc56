"""A server with OpenAI's embeddings protocol that embeds with a real encoder, and fails as a test asks it to."""

import base64

import numpy as np
from json_server import JsonServer


class EmbeddingServer(JsonServer):
    """Keeps the texts of each request in ``asked``.

    Attributes:
        faults: a status or the rows of an answer.
        longest: most characters of a text, and most texts of a request; others are refused.
        dimensions: of the answers, if the request names none.
    """

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.longest = (10_000, 100)
        self.dimensions = None

    def answer(self, path, body):
        texts = body["input"]
        fault = self.next_fault()
        self.asked.append(texts)
        if isinstance(fault, list):
            rows = [{"object": "embedding", "index": i, "embedding": [value] * 384} for i, value in fault]
            return 200, {"object": "list", "model": body["model"], "data": rows}
        if fault or len(texts) > self.longest[1] or max(map(len, texts)) > self.longest[0]:
            return fault or (413 if len(texts) > self.longest[1] else 400), {"error": {"message": "not now"}}
        return 200, {"object": "list", "model": body["model"], "data": self.rows(body)}

    def rows(self, body):
        with self.lock:
            vectors = self.encoder.encode_queries(body["input"])
        vectors = vectors[:, : body.get("dimensions") or self.dimensions]
        as_sent = _base64 if body.get("encoding_format") == "base64" else np.ndarray.tolist
        rows = [{"object": "embedding", "index": i, "embedding": as_sent(v)} for i, v in enumerate(vectors)]
        return rows[::-1]  # the index tells the order


def _base64(vector):
    return base64.b64encode(np.ascontiguousarray(vector).tobytes()).decode()
