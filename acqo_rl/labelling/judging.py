"""Judges whether documents answer queries: by a language model or a cross-encoder, on the scale of TREC (0 to 3)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from tqdm import tqdm

from acqo_rl.errors import ConfigError
from acqo_rl.files import writing
from acqo_rl.language_models.load import without_url
from acqo_rl.language_models.structured import example, fields, one_of, problem_of, read_reply
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.reformulation.turns import first_searches
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.retrieval.rerankers import load_cross_encoder
from acqo_rl.roles import LanguageModel
from acqo_rl.text import folded
from acqo_rl.types import Conversation, Document, Qrels, Query

RELEVANT = 2
"""Least grade of a relevant document; grade 1 means related, but without an answer."""
_BATCH = 32
_CHARACTERS = 2000
"""Maximum characters of a document's text that a judge reads."""
_LETTERS = 4
"""Minimum letters of the words by which the part of a long document is chosen."""
_TURNS = 6

_INSTRUCTIONS = """\
Judge how well a passage answers the last question of a user. Grades:
3 the passage is about exactly what is asked and answers it
2 the passage answers a part of it, or its answer is unclear
1 the passage is about the same subject, but has no answer
0 the passage is about something else
Reply with JSON."""
_EXAMPLES = (
    ("Question: when was the Veld mill built\nPassage: Veld mill. Built by Anna Smit in 1790.", example(grade=3)),
    ("Question: when was the Veld mill built\nPassage: Veld mill. It grinds mustard seed.", example(grade=1)),
    ("U: Who was Anna Smit?\nS: An engineer.\nQuestion: Where did she live?\nPassage: Marken.", example(grade=0)),
)
_GRADE = fields(grade=one_of(0, 1, 2, 3))
_WORD = re.compile(r"\w+")


class Pair(NamedTuple):
    """A document to judge for a query."""

    query: Query
    document: Document


class Judge(Protocol):
    """Grades pairs of query and document from 0 to 3."""

    name: str

    def grade(self, pairs: Sequence[Pair]) -> list[int | str]:
        """Returns one grade per pair, in input order; a text says why there is none."""
        ...


class ModelJudge:
    """Asks a language model for each pair."""

    def __init__(self, name: str, model: LanguageModel) -> None:
        self.name = name
        self.model = model

    def grade(self, pairs: Sequence[Pair]) -> list[int | str]:
        """Returns one grade per pair; of a failed call the reason, of a reply without a grade its beginning."""
        completions = self.model.generate([conversation_for(pair) for pair in pairs], _GRADE)
        return [reply["grade"] if (reply := read_reply(c, _GRADE)) else problem_of(c) for c in completions]


class CrossEncoderJudge:
    """Grades by the score of a cross-encoder of sentence-transformers, read as a probability."""

    thresholds = (0.1, 0.5, 0.9)
    """Least probabilities of the grades 1, 2 and 3."""

    def __init__(self, name: str) -> None:
        """Loads the model.

        Raises:
            ConfigError: the model cannot be loaded, or has more than one score per pair.
        """
        self.name = name
        self._model = load_cross_encoder(name)

    def grade(self, pairs: Sequence[Pair]) -> list[int | str]:
        """Returns one grade per pair; the query is searched text: with its last two turns."""
        from torch import nn

        texts = [made.sub_queries[0].text for made in first_searches([pair.query for pair in pairs])]
        asked = [(text, part_to_read(pair)) for text, pair in zip(texts, pairs, strict=True)]
        scores = self._model.predict(asked, activation_fn=nn.Sigmoid(), show_progress_bar=False)
        return [sum(float(score) >= least for least in self.thresholds) for score in scores]


def conversation_for(pair: Pair) -> Conversation:
    """The prompt for a pair; its texts are made safe for a prompt."""
    turns = [untrusted(str(turn))[:500] for turn in pair.query.history[-_TURNS:]]
    asked = [*turns, f"Question: {untrusted(pair.query.text)[:1000]}", f"Passage: {untrusted(part_to_read(pair))}"]
    return with_examples(_INSTRUCTIONS, _EXAMPLES, "\n".join(asked))


def cost_of(pairs: Sequence[Pair]) -> str:
    """The number of pairs and a rough number of prompt tokens (four characters each)."""
    characters = sum(len(message["content"]) for pair in pairs for message in conversation_for(pair))
    return f"{len(pairs):,} pairs, about {characters / 4000:,.0f} thousand tokens of prompts"


def part_to_read(pair: Pair) -> str:
    """The document as a judge reads it: of a long one, the part that shares most words with what the user said."""
    from semantic_text_splitter import TextSplitter

    query, document = pair
    if len(document.text) <= _CHARACTERS:
        return passage_text(document)
    said = _words(" ".join([query.text, *(turn.text for turn in query.history if turn.speaker == "user")]))
    parts = TextSplitter(_CHARACTERS).chunks(document.text)
    return passage_text(replace(document, text=max(parts, key=lambda part: len(said & _words(part)))))


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(folded(text)) if len(word) >= _LETTERS}


class Judgements:
    """Grades that are kept in a file: each pair is judged once, and each batch is written before the next one."""

    def __init__(self, judge: str, file: Path) -> None:
        """Reads the file if it exists.

        Args:
            judge: name of the judge, part of the key; the URL of a server is not.
            file: JSON lines, one grade each.
        """
        self._judge = without_url(judge)
        self._file = file
        written = file.read_bytes() if file.exists() else b""
        whole = written[: written.rfind(b"\n") + 1]
        if whole != written:  # an interrupted run wrote a part of the last line
            file.write_bytes(whole)
        rows = map(json.loads, whole.splitlines())
        self._grades: dict[str, int] = {row["key"]: row["grade"] for row in rows}

    def missing(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs that are not judged yet."""
        return [pair for pair in pairs if self._key(pair) not in self._grades]

    def judge(self, pairs: Sequence[Pair], judge: Judge) -> Counter[str]:
        """Judges the missing pairs; returns the number of pairs without a grade, by reason.

        Raises:
            ConfigError: no pair of the first batch got a grade.
        """
        missing, failed = self.missing(pairs), Counter[str]()
        with tqdm(total=len(missing), desc=f"judge by {self._judge}", unit="pair", disable=not missing) as bar:
            for start in range(0, len(missing), _BATCH):
                batch = missing[start : start + _BATCH]
                grades = judge.grade(batch)
                failed.update(grade for grade in grades if isinstance(grade, str))
                if failed.total() == start + len(batch):
                    [(reason, _)] = failed.most_common(1)
                    raise ConfigError(
                        f"{self._judge} gave no grade for the first {failed.total()} pairs ({reason}); check the model."
                    )
                self._write(
                    [(pair, grade) for pair, grade in zip(batch, grades, strict=True) if isinstance(grade, int)]
                )
                bar.update(len(batch))
        return failed

    def relevance(self, pairs: Sequence[Pair]) -> Qrels:
        """Judgements of the pairs that have a grade: 2 and 1 for the grades 3 and 2, otherwise 0."""
        qrels: Qrels = {}
        for pair in pairs:
            if (grade := self._grades.get(self._key(pair))) is not None:
                qrels.setdefault(pair.query.id, {})[pair.document.id] = max(0, grade - RELEVANT + 1)
        return qrels

    def _write(self, graded: Sequence[tuple[Pair, int]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with writing(self._file), self._file.open("a", encoding="utf-8") as file:
            for pair, grade in graded:
                self._grades[self._key(pair)] = grade
                row = {"key": self._key(pair), "query": pair.query.id, "document": pair.document.id, "grade": grade}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _key(self, pair: Pair) -> str:
        query, document = pair
        said = [self._judge, query.text, [*map(str, query.history)], document.title, document.text]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:24]
