r"""Estimate, before anything is trained, whether training is worth it.

    acqo headroom --data BEIR_DIR --index INDEX --output outputs/headroom
    acqo headroom --data BEIR_DIR --index INDEX --limit 100 --output outputs/first_look
    acqo headroom --data BEIR_DIR --index INDEX --output outputs/headroom \
        --reformulator auto rules hyde=openai:qwen3@http://localhost:8000/v1

The command measures what is served without training: the raw query, auto without a model, the rules and the last two
turns. It scores the warm start's candidates of each query by the reward. The best candidate of each query is an upper
bound for a policy that picks among them. The form of candidate that is best on one half of the queries, measured on the
other half, is a lower bound. If auto is measured, its hops and its order follow the candidates too. If there are
conversations, the queries without one are also searched after that of another query (topic change). The last line
advises to train, to try training, to use a reformulator without training, or to search the raw query; docs/headroom.md
lists the conditions.

No language model is called unless --reformulator names one. The output folder gets the report of acqo evaluate and
scored.jsonl. The same command continues after an interruption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from acqo_rl.addresses import Address
from acqo_rl.data.beir import read_beir
from acqo_rl.evaluation.indexes import cached
from acqo_rl.evaluation.report import relative_to, write_report
from acqo_rl.evaluation.summary import Study, summarise
from acqo_rl.evaluation.systems import System, evaluate_systems, open_systems
from acqo_rl.evaluation.tables import aligned
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.heuristic import kinds_of
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.searching.settings import StepSettings
from acqo_rl.settings import setting
from acqo_rl.training.headroom import Headroom, advise, change_topics, check_number, measure_bounds
from acqo_rl.training.materials import with_gold
from acqo_rl.training.rewards import Reward
from acqo_rl.training.run_folder import inputs_of, open_run
from acqo_rl.training.warm_start import scored_in
from acqo_rl.types import Count, FeedbackSpec, Query, Seed

_MEASURE = "nDCG@10"


@dataclass
class HeadroomConfig(IndexSettings):
    """Settings of an estimate."""

    data: str = setting("BEIR folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.")
    index: Address = setting(INDEX_HELP)
    output: str = setting("Folder of the report: new, or one of the same settings to continue.")
    split: str = setting("Queries to estimate with: qrels/SPLIT.tsv.", "train")
    limit: Count = setting("Number of queries, drawn at random; 0 uses all.", 300)
    reformulator: list[str] = setting(
        "Reformulators to measure beside the raw query, NAME or NAME=MODEL as in acqo evaluate.",
        ["auto", "rules", "turns"],
    )
    seed: Seed = setting("Seed of the drawn queries and of the halves.", 0)


def main(config: HeadroomConfig) -> None:
    """Scores the candidates that are not scored yet, then reports."""
    paths = StepSettings().paths(["raw", *(name for name in config.reformulator if name != "raw")])
    data = read_beir(config.data, config.split)
    corpus = data.corpus
    qrels = data.qrels[config.split]
    queries = with_gold(data.queries[config.split], qrels, config.limit, config.seed)
    check_number(queries)
    retriever = config.open_index_of(config.index, corpus)
    folder = Path(config.output)
    open_run(folder, asdict(config), inputs_of(config.data, [config.split], [config.index]), {"reformulator"})
    reward = Reward("converge", retriever, RankScoreFusion())
    file = folder / "cache.sqlite"
    index = cached("index", config.index, retriever, file)
    systems = open_systems(paths, {"index": index}, [reward.path.fusion.name], corpus, file)

    def measure(asked: Sequence[Query], kinds: Mapping[str, str]) -> list[Any]:
        """Measures the raw query and each reformulator; ``turns`` only if there are conversations."""
        talks = any(query.history for query in asked)
        some = {system: path for system, path in systems.items() if system.reformulator != "turns" or talks}
        evaluations = evaluate_systems(some, asked, qrels, kinds=kinds, measures=[_MEASURE])
        return [replace(one, name=system.reformulator) for system, one in evaluations.items()]

    kinds = kinds_of(queries, data.metadata)
    baselines = measure(queries, kinds)
    changed = change_topics(queries, config.seed)
    topics = measure(changed, dict.fromkeys(qrels, "topic change")) if changed else []
    read = replace(reward.path, corpus=corpus, feedback=FeedbackSpec(1)).with_feedback(queries)
    scored = scored_in(folder / "scored.jsonl", read, qrels, corpus, reward)
    auto = next((path for path in systems.values() if path.choice), None)
    bounds, forms = measure_bounds(read, qrels, scored, kinds, reward, auto, measure=_MEASURE, seed=config.seed)
    decision, reason = advise(Headroom(tuple(baselines), bounds, tuple(topics)), _MEASURE)
    if not topics and any(query.history for query in queries):
        reason += " Topic changes were not measured, because every query has a conversation."
    settings = {
        "decision": decision,
        "reason": reason,
        "data": relative_to(folder, config.data),
        "index": relative_to(folder, config.index),
        **{name: value for name, value in asdict(config).items() if name in ("split", "limit", "seed")},
        "forms": forms,
        "topic changes": {one.name: summarise(one).overall.measures for one in topics},
    }
    study = Study({System(one.name, "index", "rsf"): one for one in (*baselines, *bounds)}, {}, "raw", [_MEASURE])
    _, tables = write_report(folder, study, settings)
    print("\n\n".join([*map(aligned, tables), f"Report: {folder / 'report.html'}", reason]))
