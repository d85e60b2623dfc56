"""The results of ``acqo search`` as lines for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acqo_rl.pipeline.context import excerpt, searched_texts, window
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import SearchResult
from acqo_rl.text import one_line
from acqo_rl.types import Document, Ranking, SubQuery

SHOWN_OF_EACH = 5
CELL = 40
EXCERPT = 120


def _document(document: Document, about: str) -> dict[str, Any]:
    start, text = window(document.text, about)
    place = {"text": text, "start": start, "length": len(document.text)}
    return {"id": document.id, "title": document.title, **place, "metadata": document.metadata}


def lines(answer: SearchResult, corpus: Mapping[str, Document], score_name: str) -> Iterator[str]:
    """The result as lines for a terminal, without control characters."""
    reformulation, fused = answer.reformulation, answer.fused
    about = searched_texts(reformulation)
    yield f"route: {reformulation.route}, by {reformulation.made_by}"
    if reformulation.reasoning:
        yield one_line(reformulation.reasoning)
    if reformulation.problem:
        yield f"problem: {one_line(reformulation.problem)}"
    yield from answer.notes
    for failure in answer.failures:
        yield f"failed: {one_line(str(failure))}"
    for number, (sub_query, ranking) in enumerate(searches(answer), start=1):
        yield ""
        yield f"{number}. [{sub_query.kind}] {one_line(sub_query.text)}"
        if sub_query.min_margin is not None and not ranking.doc_ids:
            yield f"   not used: its best score does not exceed the others by {sub_query.min_margin:g}"
            continue
        top = list(zip(ranking.doc_ids, ranking.scores, strict=True))[:SHOWN_OF_EACH]
        documents = fetch(corpus, [d for d, _ in top])
        top_rows = [
            (str(rank), f"{score:.3f}", d, documents[d].title)
            for rank, (d, score) in enumerate(top, start=1)
            if d in documents
        ]
        yield from table(("rank", "score", "id", "title"), top_rows)
    yield ""
    yield "fused"
    scored = zip(fused.doc_ids, fused.scores, fused.similarities, strict=True)
    documents = fetch(corpus, fused.doc_ids)
    rows = [
        (str(rank), f"{score:.3f}", f"{best:.3f}", d, found.title, excerpt(one_line(found.text), about, EXCERPT))
        for rank, (d, score, best) in enumerate(scored, start=1)
        if (found := documents.get(d))
    ]
    yield from table(("rank", score_name, "best", "id", "title", "text"), rows)
    yield ""
    yield ", ".join(f"{step.name} {step.ms:.1f} ms" for step in answer.trace)


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Aligned lines; the columns before ``id`` contain numbers."""
    if not rows:
        yield "   no documents"
        return
    cells = [[one_line(cell) for cell in row] for row in (header, *rows)]
    cells = [[*(cut(cell, CELL) for cell in row[:-1]), row[-1]] for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = header.index("id")
    for row in cells:
        aligned = [c.rjust(w) if i < numbers else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield f"   {'  '.join(aligned)}".rstrip()


def searches(found: SearchResult) -> list[tuple[SubQuery, Ranking]]:
    """Each sub-query and its list, which is empty if the search failed."""
    by_text = {ranking.query: ranking for ranking in found.rankings}
    return [(one, by_text.get(one.text, Ranking((), ()))) for one in found.reformulation.sub_queries]


def as_json(answer: SearchResult, corpus: Mapping[str, Document]) -> dict[str, Any]:
    """The result with the parts of long texts that match best, for ``--json``."""
    reformulation, fused = answer.reformulation, answer.fused
    documents, about = fetch(corpus, fused.doc_ids), searched_texts(reformulation)
    names = ("route", "made_by", "query_type", "reasoning", "problem", "completion")
    return {
        "query": reformulation.query.text,
        "history": [*map(str, reformulation.query.history)],
        **{name: getattr(reformulation, name) for name in names},
        "model_calls": reformulation.calls,
        "sub_queries": [
            {**{name: getattr(sub_query, name) for name in ("text", "kind", "weight", "min_margin")},
             "documents": [{"id": d, "score": score} for d, score in zip(ranking.doc_ids, ranking.scores, strict=True)]}
            for sub_query, ranking in searches(answer)
        ],
        "documents": [
            {**_document(documents[d], about), "score": score, "similarity": best}
            for d, score, best in zip(fused.doc_ids, fused.scores, fused.similarities, strict=True)
            if d in documents
        ],
        "failures": [*map(str, answer.failures)],
        "notes": answer.notes,
        "ms": {step.name: step.ms for step in answer.trace},
    }  # fmt: skip


def cut(text: str, width: int) -> str:
    """Shortens a text to ``width`` characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
