r"""Estimate, before anything is trained, whether training is worth it.

    acqo headroom --data BEIR_DIR --index INDEX --output outputs/headroom
    acqo headroom --data BEIR_DIR --index INDEX --limit 100 --output outputs/first_look
    acqo headroom --data BEIR_DIR --index INDEX --output outputs/headroom \
        --reformulator raw rules hyde=openai:qwen3@http://localhost:8000/v1

The command measures what the raw query, the rules and the last two turns reach, and scores the warm start's candidates
of each query by the reward. The best candidate of each query is an upper bound for a policy that picks among them. The
form of candidate that is best on one half of the queries, measured on the other half, is a lower bound. If there are
conversations, queries that need none are also searched after another conversation (topic change). The last line
advises to train, to try training, to use a reformulator without training, or to search the raw query; docs/headroom.md
lists the conditions.

No language model is called unless --reformulator names one. The output folder gets report.md, headroom.json and
scored.jsonl. The same command continues after an interruption.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acqo_rl.addresses import Address
from acqo_rl.cli.fields import setting
from acqo_rl.cli.groups import WithReward
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.roles import Fusion, Retriever
from acqo_rl.searching.names import name_reformulators
from acqo_rl.types import Count, FeedbackSpec, Query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from acqo_rl.data.beir import Beir
    from acqo_rl.evaluation.run import Evaluation
    from acqo_rl.training.headroom import Decision, Headroom
    from acqo_rl.training.rewards import Reward
    from acqo_rl.training.warm_start import ScoredQuery

_MEASURE = "nDCG@10"
_MOST_SUB_QUERIES = 3
"""Maximum number of sub-queries of a candidate."""


@dataclass(kw_only=True)
class HeadroomConfig(WithReward, IndexSettings):
    """Settings of the command."""

    data: str = setting("BEIR folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.")
    index: Address = setting(INDEX_HELP)
    output: str = setting("Folder of the report: new, or one of the same settings to continue.")
    split: str = setting("Queries to estimate with: qrels/SPLIT.tsv.", "train")
    limit: Count = setting("Number of queries, drawn at random; 0 uses all.", 300)
    reformulator: list[str] = setting(
        "Reformulators to measure beside the raw query, NAME or NAME=MODEL as in acqo evaluate.", ["rules", "turns"]
    )
    seed: int = setting("Seed of the drawn queries and of the halves.", 0)


def main(config: HeadroomConfig) -> None:
    """Scores the candidates that are not scored yet, then reports."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.reformulation.heuristic import kinds_of
    from acqo_rl.searching.path import add_feedback
    from acqo_rl.training.headroom import Headroom, advise, change_topics, measure_bounds
    from acqo_rl.training.rewards import Reward
    from acqo_rl.training.run_folder import inputs_of, open_run

    models = check(config)
    data = read_beir(config.data, config.split)
    queries, qrels = drawn(config, data), data.qrels[config.split]
    retriever = config.open_index_of(config.index, data.corpus)
    folder, fusion = Path(config.output), RankScoreFusion()
    open_run(folder, asdict(config), inputs_of(config.data, [config.split], [config.index]), {"reformulator"})
    kinds = kinds_of(queries, data.metadata)
    reward = Reward(
        "converge", retriever, fusion, **{k: v for k, v in asdict(config.reward).items() if k != "word_cost"}
    )
    baselines = measure_baselines(config, models, data, queries, kinds, retriever, fusion)
    changed = change_topics(baselines[0], queries, config.seed)
    kinds_of_changed = dict.fromkeys((query.id for query in changed), "topic change")
    topics = measure_baselines(config, models, data, changed, kinds_of_changed, retriever, fusion) if changed else []
    look = FeedbackSpec(1)
    read = add_feedback(queries, retriever, fusion, data.corpus, look)
    scored = score(config, data, read, reward, folder / "scored.jsonl")
    bounds, forms = measure_bounds(read, qrels, scored, kinds, reward, measure=_MEASURE, seed=config.seed)
    headroom = Headroom(tuple(baselines), bounds, forms, tuple(topics))
    report(config, headroom, advise(headroom, _MEASURE), folder)


def check(config: HeadroomConfig) -> dict[str, str]:
    """Checks settings that would otherwise fail late; returns the models of the reformulators by name.

    Raises:
        ConfigError: a reformulator or the measure is unknown.
    """
    return name_reformulators(["raw", *(name for name in config.reformulator if name != "raw")], None)


def drawn(config: HeadroomConfig, data: Beir) -> list[Query]:
    """The sampled queries, in file order."""
    from acqo_rl.training.materials import with_gold

    return with_gold(data.queries[config.split], data.qrels[config.split], config.limit, config.seed)


def measure_baselines(
    config: HeadroomConfig,
    models: Mapping[str, str],
    data: Beir,
    queries: Sequence[Query],
    kinds: Mapping[str, str],
    retriever: Retriever,
    fusion: Fusion,
) -> list[Evaluation]:
    """Measures the raw query and each reformulator; ``turns`` only if there are conversations."""
    from acqo_rl.evaluation.run import evaluate
    from acqo_rl.evaluation.study import with_kinds
    from acqo_rl.reformulation.load import lexicon_for, load_reformulator
    from acqo_rl.searching.path import SearchPath

    lexicon = lexicon_for(models, data.corpus.values())
    measured = []
    for name, model in models.items():
        if name == "turns" and not any(query.history for query in queries):
            continue
        path = SearchPath(load_reformulator(name, model, lexicon=lexicon), retriever, fusion, data.corpus)
        found = evaluate(path, queries, data.qrels[config.split], name=name, measures=[_MEASURE])
        measured.append(with_kinds(found, kinds))
    return measured


def score(
    config: HeadroomConfig, data: Beir, queries: Sequence[Query], reward: Reward, file: Path
) -> list[ScoredQuery]:
    """Returns the rewards of all candidates; reads those of an earlier run and computes the others in batches."""
    from acqo_rl.training.candidates import candidates_in
    from acqo_rl.training.run_folder import continue_rows
    from acqo_rl.training.warm_start import ScoredQuery, score_candidates

    def rest(done: int) -> Iterator[list[ScoredQuery]]:
        found = candidates_in(data.corpus.values(), queries[done:], _MOST_SUB_QUERIES)
        return score_candidates(queries[done:], data.qrels[config.split], found, reward)

    return continue_rows(ScoredQuery, file, len(queries), rest)


def report(config: HeadroomConfig, headroom: Headroom, advice: tuple[Decision, str], folder: Path) -> None:
    """Prints the tables and the advice, and writes them."""
    from acqo_rl.evaluation.study import Study
    from acqo_rl.evaluation.summary import compare, summarise
    from acqo_rl.evaluation.systems import System
    from acqo_rl.evaluation.tables import aligned, groups_table, results_table
    from acqo_rl.files import write_atomic

    measure, baseline = _MEASURE, headroom.baselines[0]
    evaluations = [*headroom.baselines, *headroom.bounds]
    comparisons = [compare(evaluation, baseline, [measure]) for evaluation in evaluations[1:]]
    study = Study({System(e.name, "", ""): e for e in evaluations}, {}, baseline.name, [measure])
    table, kinds = aligned(results_table(study, study.comparisons())), aligned(groups_table(evaluations, measure))
    if headroom.topic_changes:
        kinds += f"\n\n{aligned(groups_table(headroom.topic_changes, measure))}"
    forms = f"Chosen forms: {' and '.join(headroom.forms)}."
    title = f"# Headroom of {len(baseline.results)} queries"
    parts = [title, table, "## By kind of query", kinds, forms, f"**{advice[1]}**"]
    write_atomic(folder / "report.md", ["\n\n".join(parts)])
    content = {
        "decision": advice[0],
        "reason": advice[1],
        "settings": asdict(config),
        "forms": headroom.forms,
        "systems": [{"name": evaluation.name, **asdict(summarise(evaluation))} for evaluation in evaluations],
        "comparisons": [asdict(comparison) for comparison in comparisons],
        "topic_changes": [{"name": one.name, **asdict(summarise(one))} for one in headroom.topic_changes],
    }
    write_atomic(folder / "headroom.json", [json.dumps(content, indent=2)])
    print("\n".join([table, "", kinds, "", forms, "", f"Report: {folder / 'report.md'}", advice[1]]))
