"""The results of ``acqo search`` as lines for a terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from acqo_rl.pipeline.context import excerpt, searched_texts, window
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import SearchResult
from acqo_rl.text import one_line
from acqo_rl.types import Corpus, Ranking

SHOWN_OF_EACH = 5
CELL = 40
EXCERPT = range(20, 120)
"""Characters of a document's text."""


def lines(answer: SearchResult, corpus: Corpus, width: int) -> Iterator[str]:
    """The result as lines for a terminal, without control characters; the shown texts fit its width."""
    reformulation = answer.reformulation
    fused = answer.fused
    about = searched_texts(reformulation)
    yield f"route: {reformulation.route}, by {reformulation.made_by}"
    if reformulation.reasoning:
        yield one_line(reformulation.reasoning)
    if reformulation.problem:
        yield f"problem: {one_line(reformulation.problem)}"
    yield from answer.notes
    for failure in answer.failures:
        yield f"failed: {one_line(str(failure))}"
    by_text = {ranking.query: ranking for ranking in answer.rankings}
    for number, sub_query in enumerate(reformulation.sub_queries, start=1):
        ranking = by_text.get(sub_query.text, Ranking((), ()))  # a failed search has none
        yield ""
        yield f"{number}. [{sub_query.kind}] {one_line(sub_query.text)}"
        if sub_query.min_margin is not None and not ranking.doc_ids:
            yield f"   not used: its best score does not exceed the others by {sub_query.min_margin:g}"
            continue
        top = ranking.pairs[:SHOWN_OF_EACH]
        documents = fetch(corpus, [d for d, _ in top])
        top_rows = [
            (str(rank), f"{score:.3f}", d, documents[d].title)
            for rank, (d, score) in enumerate(top, start=1)
            if d in documents
        ]
        yield from table(("rank", "score", "id", "title"), top_rows)
    yield ""
    yield f"fused, scored by {fused.retriever}"
    scored = zip(fused.doc_ids, fused.scores, fused.similarities, strict=True)
    documents = fetch(corpus, fused.doc_ids)
    header = ("rank", "score", "similarity", "id", "title")
    rows = [
        (str(rank), f"{score:.3f}", f"{best:.3f}", d, cut(one_line(documents[d].title), CELL))
        for rank, (d, score, best) in enumerate(scored, start=1)
        if d in documents
    ]
    room = width - 2 - max(map(len, table(header, rows)))
    room = min(max(room, EXCERPT.start), EXCERPT.stop)
    texts = [excerpt(documents[row[3]].text, about, room, fused.spans.get(row[3])) for row in rows]
    yield from table((*header, "text"), [(*row, text) for row, text in zip(rows, texts, strict=True)])
    yield ""
    yield ", ".join(f"{step.name} {step.ms:.1f} ms" for step in answer.trace)


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Aligned lines; the columns before ``id`` contain numbers."""
    if not rows:
        yield "   no documents"
        return
    cells = [[*(cut(one_line(cell), CELL) for cell in row[:-1]), one_line(row[-1])] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = header.index("id")
    for row in cells:
        aligned = [c.rjust(w) if i < numbers else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield f"   {'  '.join(aligned)}".rstrip()


def as_json(answer: SearchResult, corpus: Corpus) -> dict[str, Any]:
    """The fields of the result, and of each document the part that matches best with its place, for ``--json``."""
    about = searched_texts(answer.reformulation)
    spans = answer.fused.spans
    documents = [
        {**asdict(document), "text": text, "start": start, "length": len(document.text)}
        for document in fetch(corpus, answer.fused.doc_ids).values()
        for start, text in [window(document.text, about, span=spans.get(document.id))]
    ]
    return {**asdict(answer), "notes": answer.notes, "documents": documents}


def cut(text: str, width: int) -> str:
    """Shortens a text to ``width`` characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
