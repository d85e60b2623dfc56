"""Scripted stand-ins for the language model of the pipeline."""

from acqo_rl.language_models.structured import example
from acqo_rl.roles import LanguageModel, Retriever
from acqo_rl.types import Completion, Document, Ranking

ROLES = {
    "analyzer": "hard to answer by one search",
    "gap": "all that is needed",
    "decompose": "Split the question",
    "sub_answer": "Briefly answer",
    "synthesis": "comprehensively",
    "grounding": "Split the answer",
}


CLAIM = example(claims=[{"claim": "a claim", "source": 1}])


def split(*questions, depends_on=()):
    """A reply that splits the question; ``depends_on`` are the ids that each part needs."""
    needs = [*depends_on, *[[]] * (len(questions) - len(depends_on))]
    rows = [
        {"id": i, "question": question, "depends_on": list(ids)}
        for i, (question, ids) in enumerate(zip(questions, needs, strict=True), start=1)
    ]
    return example(questions=rows)


def gaps(*missing):
    """A reply to what is missing; without arguments nothing is."""
    return example(complete=not missing, missing=list(missing))


class ModelByRole(LanguageModel):
    """Scripted: answers each kind of request with its replies in turn, the last one again and again."""

    def __init__(self, **replies):
        self.replies = {role: [r] if isinstance(r, str) else list(r) for role, r in replies.items()}
        self.asked = []

    def generate(self, conversations, schema=None):
        return [Completion(self._reply(conversation), 1) for conversation in conversations]

    def _reply(self, conversation):
        [role] = [role for role, words in ROLES.items() if words in conversation[0]["content"]]
        self.asked.append((role, conversation[-1]["content"]))
        replies = self.replies[role]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def count(self, role):
        return sum(asked == role for asked, _ in self.asked)


class BrokenModel(LanguageModel):
    def generate(self, conversations, schema=None):
        raise ConnectionError("the model server is down")


class Endless(Retriever):
    """Returns k new documents for every text, and records its calls."""

    name = "endless"

    def __init__(self):
        self.calls = []

    def search(self, texts, k):
        self.calls.append((list(texts), k))
        return [
            Ranking(tuple(f"{text}/{i}" for i in range(k)), tuple(1 - i / 100 for i in range(k)), self.name, text)
            for text in texts
        ]


class AnyDocument(dict):
    """A corpus with a document for every id; its text may contain ``{query}`` and ``{rank}``."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def __missing__(self, doc_id):
        query, _, rank = doc_id.partition("/")
        return Document(doc_id, doc_id, self.text.format(query=query, rank=rank))
