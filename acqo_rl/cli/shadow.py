r"""Report what a search would do to the queries of a log, beside what is served today.

    acqo shadow --log log.jsonl --data BEIR_DIR --index INDEX --output outputs/shadow
    acqo shadow --log log.jsonl --data BEIR_DIR --index INDEX --model trained:four_sets --output outputs/shadow
    acqo shadow --log log.jsonl --index http+json:search.yaml --reformulator rules --limit 0 --output outputs/shadow

The log has one JSON object per line; only "query" is required, and other fields than these four are not read:

    {"query": "and its capital?", "history": ["U: Where is Oslo?", "S: In Norway."],
     "relevant": ["d7"], "results": ["d3", "d7"]}

history is the conversation before the query. relevant are the ids of documents that users clicked, or that were judged
relevant. results are the ids of the documents that users saw, best first. Without them, today's results are those of
the raw query in the same index.

Each query is searched as acqo search would do with the same settings, one at a time. The report shows how many of
today's first ten documents would leave, whether the new ones contain more or fewer words of the query, how often a
language model would be called, the time of a search, and side by side the fifty queries that would change most. If the
log has relevant documents, it also shows which queries improve and which become worse, against the raw query. The last
lines tell how many features the networks read that are outside the range of their training.

Queries are sent to the index and to the model, and nowhere else. The output folder gets report.html, one file. After an
interruption, the same command continues; it asks the model only for what is missing.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from acqo_rl.addresses import Address
from acqo_rl.data.draw import draw
from acqo_rl.errors import DataError
from acqo_rl.evaluation.cache import CachedReformulator, reformulator_key
from acqo_rl.evaluation.report import examples, write_page
from acqo_rl.evaluation.run import evaluate
from acqo_rl.evaluation.shadow import documents_of, drift_of, read_log, tables_of
from acqo_rl.evaluation.summary import Study
from acqo_rl.evaluation.systems import Evaluations, System
from acqo_rl.evaluation.tables import aligned, study_tables
from acqo_rl.reformulation.settings import WithStrategy
from acqo_rl.retrieval.settings import INDEX_HELP
from acqo_rl.searching.assemble import check_path, open_path
from acqo_rl.searching.description import PathSpec
from acqo_rl.searching.settings import SearcherSettings
from acqo_rl.settings import setting
from acqo_rl.training.run_folder import open_run
from acqo_rl.types import Count, Qrels

_MEASURES = ("nDCG@10", "R@10", "RR@10")
"""Of the queries with relevant documents."""


@dataclass
class ShadowConfig(SearcherSettings, WithStrategy):
    """Settings of a comparison with today's search."""

    log: str = setting("File with one JSON object per line; see above.")
    index: Address = setting(INDEX_HELP)
    output: str = setting("Folder of the report: new, or an earlier one of the same log to continue.")
    data: str | None = setting("BEIR folder with the documents (corpus.jsonl); not needed for a search engine.", None)
    reformulator: str = setting("Reformulator; see acqo search --help.", "auto")
    limit: Count = setting("Number of lines of the log, drawn at random; 0 uses all.", 1000)


def main(config: ShadowConfig) -> None:
    """Searches the queries, then reports."""
    [(name, spec)] = config.paths([config.reformulator], config.strategy).items()
    check_path(spec)
    log = read_log(Path(config.log))
    lines = draw(log, config.limit or len(log), 0)
    corpus, retriever = config.open_with_documents(config.index, config.data)
    ids = [doc_id for _, row in lines for doc_id in (*row["relevant"], *row["results"])][:1000]
    if ids and not documents_of(corpus, ids):
        raise DataError(
            f"{config.log}: none of the ids in relevant and results is that of a document, such as {ids[0]!r}; give "
            "the ids of the documents that are searched, or leave both fields out."
        )
    folder = Path(config.output)
    open_run(folder, {"log": str(Path(config.log).resolve())})
    raw = open_path(PathSpec(), corpus, retriever)
    path = open_path(spec, corpus, retriever)
    key = reformulator_key(spec.reformulator, spec.model, spec.strategy)
    cached = CachedReformulator(name, lambda: path.reformulator, key, folder / "cache.sqlite")
    paths = {"raw query": raw, name: replace(path, reformulator=cached)}
    queries = [query for query, _ in lines]

    def measure(qrels: Qrels | None, **how: Any) -> Evaluations:
        """Evaluates the raw query and the search that is tried."""
        return {
            System(name, "", ""): evaluate(path, queries, qrels, name=name, measures=_MEASURES, **how)
            for name, path in paths.items()
        }

    before, after = measure(None, k=10, batch_size=1).values()
    tables = tables_of(before, after, [row for _, row in lines], corpus, cached.ms)
    networks = dict(zip(("choice", "hop", "order"), spec.networks(), strict=True))
    answer = (
        f"{len(lines):,} of the {len(log):,} queries of {config.log}, as they are served today and with {name}. Leave "
        "the first ten: share of today's first ten documents that would not be among them. More, or fewer, query "
        "words: share of the queries of which the first ten documents would contain more, or fewer, words. "
        f"{drift_of(networks)}"
    )
    judged = []
    relevant = {query.id: dict.fromkeys(row["relevant"], 1) for query, row in lines}
    if any(relevant.values()):
        study = Study(measure(relevant), {}, "raw query", _MEASURES)
        judged = [*study_tables(study, study.comparisons())][:2]
        tables += [*judged, *examples(study)]
    write_page(folder, f"Shadow of {Path(config.log).name}", answer, tables, asdict(config))
    print(*map(aligned, [tables[0], *judged]), answer, f"Report: {folder / 'report.html'}", sep="\n\n")
