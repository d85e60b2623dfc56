"""A rerank server on this machine, in the shape of Cohere or of TEI, that counts the words which two texts share."""

import re

from json_server import JsonServer


def shared_words(query, passage):
    """The share of the query's words that the passage has, less a little for a long passage."""
    asked, read = (set(re.findall(r"\w+", text.lower())) for text in (query, passage))
    return len(asked & read) / max(len(asked), 1) - len(read) / 10_000


class RerankServer(JsonServer):
    """Keeps the bodies of the requests in ``asked``.

    Attributes:
        form: ``documents`` (Cohere, Jina, vLLM, llama.cpp) or ``texts`` (TEI).
        faults: the rows of an answer.
    """

    def __init__(self, form="documents"):
        super().__init__()
        self.name = f"rerank:words@{self.url}"
        self.form = form

    def answer(self, path, body):
        fault = self.next_fault()
        if self.form in body and not fault:
            self.asked.append(body)
        if path != "/v1/rerank":
            return 404, {"detail": "Not Found"}
        if fault:
            return 200, {"results": [{"index": index, "relevance_score": score} for index, score in fault]}
        if self.form not in body:
            return 422, {"error": f"missing field `{self.form}`"}
        scores = [shared_words(body["query"], passage) for passage in body[self.form]]
        best = sorted(range(len(scores)), key=lambda i: -scores[i])
        if self.form == "texts":
            return 200, [{"index": i, "score": scores[i]} for i in best]
        return 200, {"id": "1", "results": [{"index": i, "relevance_score": scores[i]} for i in best]}
