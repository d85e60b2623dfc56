"""Finds references in texts ("see also", "as described in", links) and follows them breadth-first."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from acqo_rl.data.pages import without_markdown
from acqo_rl.pipeline.calls import PassageSearch
from acqo_rl.pipeline.passages import Chunk
from acqo_rl.pipeline.state import Action, RetrievalState, RetrievalStep
from acqo_rl.text import normalised

MOST = 5
"""Maximum number of references per text, and of queries per depth."""

_SECTION = (
    r"(?:[Ss]ection|[Cc]hapter|[Aa]ppendix|[Tt]able|[Ff]igure|[Pp]art|[Aa]rticle|[Aa]nnex|RFC|ISO)\s+\w?\d*(?:[.-]\d+)*"
)
_QUOTED = r"[\"\u201c\u2018][^\"\u201c\u201d\u2018\u2019\n]{4,100}[\"\u201d\u2019]"
_TITLE = (
    r"[A-Z\u00c0-\u00de][\w'\u2019-]*(?:\s+(?:(?:of|the|and|in|for|de|on|to)\s+)*[A-Z\u00c0-\u00de0-9][\w'\u2019.-]*)*"
)
_TARGET = rf"(?:the\s{{1,9}})?(?P<target>{_SECTION}|{_QUOTED}|{_TITLE})"
_NAMED = tuple(
    re.compile(rf"\b(?:{words})\s{{1,9}}{_TARGET}")
    for words in (
        r"[Rr]efers?\s{1,9}to|[Rr]eferring\s{1,9}to",
        r"[Aa]s\s{1,9}(?:described|explained|shown|defined|discussed)\s{1,9}in",
        r"[Ff]or\s{1,9}(?:more|further)\s{1,9}(?:information|details?)(?:\s{1,9}on\s{1,9}[^,.;]{1,60})?,?\s{1,9}"
        r"(?:see|read|consult)",
    )
)
_SEE_ALSO = re.compile(
    r"(?:\b(?:See\s{1,9}also|SEE\s{1,9}ALSO)|(?:\(|^[ \t]*)see\s{1,9}also"
    r"|\bsee\s{1,9}also(?=:|\s{1,9}(?:the\s{1,9})?[A-Z\u00c0-\u00de])):?\s{1,9}"
    r"(?P<list>[^\n;.]*(?:(?:;|\.(?=\d))[^\n;.]*)*)",
    re.M,
)


def find_references(text: str) -> tuple[str, ...]:
    """Returns at most 5 references in a text, in the order of the patterns.

    A dot inside a number is part of it ("Section 3.2"). After "refers to" and similar phrases only a section, a
    quotation or a capitalised name is a reference; "recall refers to the share found" contains none.
    """
    plain, links = without_markdown(text)
    found = [
        part for m in _SEE_ALSO.finditer(plain) for part in re.split(r"[,;]|(?<!\s)\s+and\s+(?=[A-Z])", m.group("list"))
    ]
    found += [match.group("target") for pattern in _NAMED for match in pattern.finditer(plain)]
    stripped = (part.strip(" \t.,;:\"'*_()[]\u201c\u201d\u2018\u2019") for part in (*found, *links))
    by_key = {normalised(part): part for part in reversed([part for part in stripped if len(part) > 3])}
    return tuple(reversed(by_key.values()))[:MOST]


@dataclass(frozen=True)
class ReferenceFollower:
    """Searches the question, then the references in the passages found, level by level.

    Attributes:
        depth: maximum number of levels, including the first search.
        documents: maximum number of new documents.
        k: passages per query.
    """

    search: PassageSearch
    depth: int = 3
    documents: int = 10
    k: int = 5

    name = "recursive"

    def run(self, state: RetrievalState) -> RetrievalState:
        """Adds steps and passages; starts from the passages in the state, or from the question if there are none."""
        passages = state.passages.found
        depth = 1 if passages else 0
        queries = _unsearched(state, _references(passages.values()) if passages else [state.query.text])
        added: list[str] = []
        path: list[RetrievalStep] = []
        while not (reason := self._reason_to_stop(depth, len(added), queries)):
            action: Action = "follow_reference" if depth else "retrieve"
            known = set(passages)
            references: list[str] = []
            found = self.search.passages(state, f"{self.name} {depth}", queries, self.k)
            for query, chunks in zip(queries, found, strict=True):
                new = [chunk for chunk in chunks if chunk.document.id not in known]
                kept = new[: max(0, self.documents - len(added))]
                for chunk in new[len(kept) :]:
                    passages.pop(chunk.document.id, None)
                doc_ids = tuple(chunk.document.id for chunk in kept)
                pointed = _references(kept)
                summary = f"Retrieved {len(kept)} new documents, found {len(pointed)} references"
                path.append(_step(action, depth, query, doc_ids, pointed, summary))
                known.update(doc_ids)
                added += doc_ids
                references += pointed
            queries = _unsearched(state, references)
            depth += 1
        summary = f"{len(added)} new documents in {len(path)} steps"
        path.append(_step("aggregate", depth, state.query.text, tuple(added), (), f"Collected {summary}"))
        path.append(_step("stop", depth, state.query.text, (), queries, reason))
        state.journal.trace.add(self.name, f"stopped: {summary}")
        return replace(state, path=tuple(path))

    def _reason_to_stop(self, depth: int, added: int, queries: Sequence[str]) -> str:
        if not queries:
            return "There are no new references"
        if added >= self.documents:
            return f"{added} new documents are enough"
        return "" if depth < self.depth else f"The maximum depth {self.depth} is reached"


def _references(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r for chunk in chunks for r in find_references(chunk.document.text)))


def _unsearched(state: RetrievalState, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in dict.fromkeys(texts) if not state.journal.has_searched(text))[:MOST]


def _step(
    action: Action, depth: int, query: str, doc_ids: tuple[str, ...], references: tuple[str, ...], reasoning: str
) -> RetrievalStep:
    digest = hashlib.sha256(query.encode("utf-8", "replace")).hexdigest()
    return RetrievalStep(f"step_{depth}_{digest[:6]}", action, query, doc_ids, references, reasoning, depth)
