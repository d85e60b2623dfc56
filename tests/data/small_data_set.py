"""A data set of two documents and two queries, with everything that a BEIR folder can hold."""

from acqo_rl.conversations import read_history
from acqo_rl.types import Document, Query

DOCUMENTS = [
    Document("d1", "Peru", "Lima is the capital.", {"url": "https://peru.example", "page": 3, "date": "2019-11-27"}),
    Document("d2", "", "Ein Satz über Köln.\u2028Zwei."),
]
QUERIES = [
    Query("q1", "and its capital?", read_history(("U: Let's talk about Peru.", "S: Sure."))),
    Query("q2", "köln"),
]
QRELS = {"dev": {"q2": {"d2": 1}}, "test": {"q1": {"d1": 2, "d2": 0}}}
METADATA = {"q1": {"kind": "ambiguous", "needs": 1}}
