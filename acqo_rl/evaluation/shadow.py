"""What a search would do to the queries of a log, compared with what is served today."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from acqo_rl.data.beir import queries_of
from acqo_rl.data.lines import Faults, Row, read_jsonl, shorten
from acqo_rl.evaluation.report import examples
from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.summary import Study
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import Table, study_tables
from acqo_rl.networks.scorer import Scorer
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching.feedback import fetch
from acqo_rl.text import content_words, one_line, passage_text
from acqo_rl.types import Corpus, Document, Query, Ranking

MEASURES = ("leave the first ten", "more query words", "fewer query words")
"""Share of today's first ten documents that leave; whether the first ten contain more, or fewer, words of the query."""
_SHOWN, _MOST, _LONGEST = 5, 50, 60
"""Documents and queries in the table of changes, and characters of a title."""


def read_log(path: Path) -> list[tuple[Query, Row]]:
    """The queries of a log, whose ids are the numbers of their lines, and the other fields of each line.

    Raises:
        DataError: the file is missing or empty, or a line is malformed; the message lists the faults.
    """
    rows = []
    with Faults() as faults:
        for number, row in read_jsonl(path, faults):
            if not isinstance(row.get("query"), str):
                seen = f"query is {shorten(row.get('query'))}; the line has the fields {', '.join(row) or 'none'}"
                faults.add(path, number, f'{seen}. Write the text of the query, as in {{"query": "..."}}.')
                continue
            for name in ("relevant", "results"):
                row[name] = row.get(name) or []
                if not isinstance(row[name], list):
                    faults.add(path, number, f"{name} is {shorten(row[name])}; write a list of ids of documents.")
            rows.append((path, number, {"_id": str(number), "text": row["query"], "metadata": row}))
        queries, fields = queries_of(rows, faults)
        if not rows and not faults:
            faults.add(path, None, 'the log is empty; write one JSON object per line, such as {"query": "..."}.')
    return [(query, fields[number]) for number, query in queries.items()]


def documents_of(corpus: Corpus, ids: Sequence[str]) -> list[Document]:
    """The documents with these ids, without those that are not in the corpus."""
    known = ids if isinstance(corpus, RemoteCorpus) else [one for one in ids if one in corpus]
    return list(fetch(corpus, known).values())


def tables_of(
    raw: Evaluation, new: Evaluation, logged: Sequence[Row], corpus: Corpus, ms: Callable[[Query], float]
) -> list[Table]:
    """What would change, and the queries that would change most, side by side.

    Args:
        raw: evaluation of the raw queries, one at a time.
        new: that of the search that is tried.
        logged: fields of the lines; results in them replace those of the raw query.
        corpus: the documents.
        ms: milliseconds of the reformulation of a query, without the time of a cache.
    """

    def titles(result: QueryResult) -> str:
        documents = documents_of(corpus, result.ranking.doc_ids[:_SHOWN])
        return " · ".join(one_line(one.title or one.text)[:_LONGEST] for one in documents)

    today = []
    changed = []
    for before, after, row in zip(raw.results, new.results, logged, strict=True):
        made = after.reformulation
        seen = tuple(row["results"][:10]) or before.ranking.doc_ids
        left = len(set(seen).difference(after.ranking.doc_ids)) / max(1, len(seen))
        words = set(content_words(made.query.text))
        were, are = (
            len(words.intersection(content_words(" ".join(map(passage_text, documents_of(corpus, ids))))))
            for ids in (seen, after.ranking.doc_ids)
        )
        measures = dict(zip(MEASURES, map(float, (left, are > were, are < were)), strict=True))
        took = after.reformulation_ms and ms(made.query)
        none = dict.fromkeys(MEASURES, 0.0)
        today.append(replace(before, ranking=Ranking(seen, ()), measures=none, reformulation_ms=0.0))
        changed.append(replace(after, measures=measures, reformulation_ms=took))
    evaluations = Evaluation("today", tuple(today)), replace(new, results=tuple(changed))
    study = Study({System(one.name, "", ""): one for one in evaluations}, {}, "today", MEASURES)
    shown = {"today": lambda before, _: titles(before), new.name: lambda _, after: titles(after)}
    return [*study_tables(study, {}), *examples(study, _MOST, shown)]


def drift_of(networks: Mapping[str, Scorer | None]) -> str:
    """The share of the features that are outside the range of the training, for each network that was asked."""
    shares = [
        f"{name} {one.read['clipped'] / one.read['features']:.3f} (in training {one.clipped or 0:.3f})"
        for name, one in networks.items()
        if one and one.read
    ]
    return f"Features outside the range of the training: {', '.join(shares) or 'no network was asked'}."
