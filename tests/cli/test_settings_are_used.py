"""Every setting of every command arrives: as it is given, in code that reads it or takes it as a named argument."""

import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import MISSING, asdict, astuple, fields, is_dataclass
from inspect import signature
from pathlib import Path
from typing import ClassVar, Literal, get_args, get_origin, get_type_hints
from unittest.mock import patch

import pytest
from annotated_types import Ge, Gt, Le, Lt
from embedding_server import EmbeddingServer
from forked import CONTEXT
from pydantic import TypeAdapter, ValidationError
from rerank_server import RerankServer
from stand_ins import Obedient
from tiny_policy import full_model

from acqo_rl.cli import COMMANDS, command, main, module_of
from acqo_rl.cli.command import settings_of
from acqo_rl.cli.index import Bm25Options, EncodingOptions, FaissOptions
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.settings import CallSettings, StrategySettings
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.encoders import ServerEncoder
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.load import LimitSettings
from acqo_rl.settings import check_used, default_of
from acqo_rl.training.rewards import Reward
from acqo_rl.training.settings import RewardSettings

PACKAGE = Path(__file__).parents[2] / "acqo_rl"
EXAMPLE = PACKAGE.parent / "docs" / "example"
HANDED_OVER = {
    CallSettings: (StrategySettings,),
    EncodingOptions: (SentenceTransformerEncoder, ServerEncoder),
    FaissOptions: (build_dense_index,),
    Bm25Options: (build_bm25_index,),
    RewardSettings: (Reward,),
    LimitSettings: (Limits,),
}
"""Group of settings -> what takes all of them as named arguments."""
MODEL = "--model openai:m@http://127.0.0.1:9"
SEARCH = f"""{MODEL}
    --strategy.num_variants 2 --strategy.max_parts 3 --strategy.hyde_include_original false --strategy.domain places
    --strategy.step_back_combine step_back --strategy.original_weight .5 --strategy.translate_to Chinese
    --strategy.force_strategy rewrite_retrieve_read --strategy.classify_by_model --strategy.similarity_threshold .9
    --strategy.reuse_templates --strategy.temperature 0 --strategy.temperatures.multi_query .1 --strategy.seed 5
    --strategy.token_limits.hyde 20 --strategy.by_type.simple hyde
    --strategy.max_new_tokens 9 --strategy.timeout 7 --strategy.max_retries 1
    --strategy.concurrency 3 --strategy.generation_batch 4 --index_device cpu --engine transformers --hops 1
    --hop {PACKAGE}/trained/hop --order trained:order --reranker RERANKER --rerank_depth 3"""
TRAIN = """--data data --index bm25 --index_device cpu --seed 3
    --reward.cost .01 --reward.word_cost .01 --reward.invalid_reward -.2 --reward.gold_decay .5
    --reward.bonus_ranks 2 --reward.top_rank_bonus .4 --prompt.max_sub_queries 2 --prompt.history_tokens 20
    --prompt.query_tokens 30 --prompt.feedback_results 1 --prompt.feedback_words 5 --prompt.max_new_tokens 4
    --prompt.raw_query_margin .1 --dev_split test"""
STAGE = f"""{TRAIN} --model model --split dev --limit 4 --fusion rrf --reward_steps order --lora_rank 4
    --trainer.max_steps 1"""
RUNS = f"""
data --dataset files --output data --documents {EXAMPLE}/corpus.jsonl --queries {EXAMPLE}/queries.jsonl
    --qrels {EXAMPLE}/qrels/test.tsv --document_fields text=text --query_fields text=text
    --max_skipped .5 --max_repeated .5
data --dataset files --output all --documents {EXAMPLE}/corpus.jsonl --queries {EXAMPLE}/queries.jsonl
    --qrels all={EXAMPLE}/qrels/test.tsv
data --dataset union --output union --sources data --limit 2 --seed 3
index --data data --output bm25 --kind bm25 --bm25.language none --bm25.k1 1.2 --bm25.b .5
index --data data --output dense --encoder ENCODER --encoding.dimensions 99 --encoding.shard_size 500
    --encoding.batch_size 100 --encoding.passage_prompt p --encoding.query_prompt q --faiss.factory HNSW8
    --faiss.build_parameters efConstruction=20 --faiss.search_parameters efSearch=20
index --data data --output split --split_passages --encoding.max_length 64 --encoding.dtype float32
    --encoding.revision main --plan
search --data data --index dense --reformulator adaptive {SEARCH} --query Lima --history hello --k 3 --json
    --score_threshold .1 --fusion rrf --rrf_k 9
search --data data --index bm25 --choice {PACKAGE}/trained/choice --query Lima
evaluate --data data --index dense --split dev --output evaluation --reformulator raw adaptive {SEARCH} --limit 2
    --robustness typos --seed 3 --group_by topic --fusion rsf rsf+reranker --measures R@5 --batch_size 2
evaluate --data data --index bm25 --split dev --output auto --reformulator auto --choice {PACKAGE}/trained/choice
label --data data --index bm25 --output questions --limit 60 --seed 3 --index_device cpu {MODEL}
    --strategy.timeout 7 --strategy.max_retries 1 --strategy.concurrency 3 --strategy.generation_batch 4
headroom --data all --index bm25 --output headroom --split all --limit 12 --reformulator rules --seed 3
    --index_device cpu
warm-start {STAGE} --output_dir warm --reward_steps hops
    --examples 8 --min_gain .01 --tie_tolerance .01 --min_helped_share .1
grpo {STAGE} --output_dir grpo --stage converge --rollouts 2 --reward_steps hops
    --min_mean_reward -1 --max_mean_reward 3
    --hardest_fraction .9 --eval_limit 1 --eval_measure R@5 --patience 2 --order gap --trainer.eval_steps 1
    --trainer.per_device_train_batch_size 2 --trainer.num_generations 2
train {TRAIN} --model model --output_dir recipe --test_split dev --plan --launcher python --prompted_baseline false
    --warm_start.examples 8 --stage1.limit 4 --stage2.limit 4 --hop.steps 7
train --model model --output_dir recipe --index_settings.kind bm25 --plan
train-scorer --task hop --data data --index bm25 --output_dir hop --split dev --limit 4 --cost .01 --hops 1
    --steps 7 --seeds 1 --seed 3 --ablation --reformulator turns --index_device cpu
train-scorer --task choice --data data --index bm25 --output_dir choice --split dev --model model --price .01
    --topic_changes .9 --steps 7 --ablation true
evaluate --data data --index bm25 --split dev --output of_policy --reformulator raw policy=warm/model
push --model warm/model --repo_id me/it --run warm --evaluation of_policy --adapter --output export --dry_run
push --model model --repo_id me/it --public
reproduce it --data . --work work --results results.yaml --record
serve --retriever bm25 --host 0.0.0.0 --port 0 --root_path /a --cors_origins * --allowed_hosts b
    --shutdown_timeout 4 --log_level ERROR --index_device cpu
serve --collections c=data,dense --strategies adaptive {SEARCH} --fusion rrf --rrf_k 9 --score_threshold .1
    --answer_model openai:m@http://127.0.0.1:9 --max_model_calls 9 --answer_tokens 9 --timeouts.search 9
    --limits.body_bytes 9 --limits.concurrency 1 --limits.max_queued 2 --limits.queue_timeout 3
    --timeouts.reformulation 4 --timeouts.sub_query 2 --timeouts.reranking 2 --timeouts.answer 50
    --result_cache_size 9 --cache_ttl 9 --batch_size 3
serve --collections c=data,bm25 --choice {PACKAGE}/trained/choice --mcp
"""
"""Command lines that give each setting another value than its default."""
WHOLE = ("dataclasses", "acqo_rl.errors", "acqo_rl.settings")
"""Modules that read all settings of a dataclass, which uses none; so do the methods that ``dataclass`` writes."""


STAND_INS = {
    "acqo_rl.language_models.load.load_language_model": lambda *_, **__: Obedient(),
    "acqo_rl.serving.server.serve": lambda *_: None,
    "acqo_rl.integrations.mcp.run": lambda *_: None,
    "acqo_rl.cli.grpo.select_band": lambda scored, *_: scored,
    "acqo_rl.hub.publish.token": lambda: None,
    "acqo_rl.hub.publish.push": lambda *_, **__: None,
}


def kinds_of(command_name):
    """The dataclasses of a command's settings and of their groups."""
    config = settings_of(module_of(command_name).main)
    return {config, *filter(is_dataclass, get_type_hints(config).values())}


def observe(folder):
    """Command -> classes and names of the settings that its runs read, with the values that are given."""
    given = {}
    found = defaultdict(set)
    parse = command.parse

    def note(main, words):
        config = parse(main, words)
        for one in filter(is_dataclass, (config, *vars(config).values())):
            values = ((item, vars(one)[item.name]) for item in fields(one))
            given.update({(type(one), i.name): value for i, value in values if value != default_of(i)})
        return config

    def read(settings, name):
        value = object.__getattribute__(settings, name)
        frame = sys._getframe(1)
        whole = frame.f_code.co_filename == "<string>" or frame.f_globals["__name__"] in WHOLE
        takers = HANDED_OVER.get(type(settings), ()) if frame.f_back.f_code is asdict.__code__ else ()
        handed_over = any(name in signature(one).parameters for one in takers)
        if (handed_over or not whole) and given.get((type(settings), name), given) == value:
            found[line.split()[0]].add((type(settings), name))
        return value

    full_model(folder, max_new_tokens=4)
    (folder / "results.yaml").write_text('data_sets: {data: ""}\nresults: {it: {command: "true {data}"}}\n')
    os.chdir(folder)
    for kind in set().union(*map(kinds_of, COMMANDS)):
        kind.__getattribute__ = read
    with RerankServer() as reranker, EmbeddingServer(SentenceTransformerEncoder("embedded:minilm")) as encoder:
        os.environ.update(ACQO_ENCODER_SERVERS=f"http://{encoder.address}")
        for name, stand_in in {**STAND_INS, "acqo_rl.cli.command.parse": note}.items():
            patch(name, stand_in).start()
        for line in RUNS.strip().replace("\n    ", " ").splitlines():
            with suppress(SystemExit):  # the last step of some runs refuses what the stand-ins write
                main(line.replace("RERANKER", reranker.name).replace("ENCODER", f"openai:m@{encoder.url}").split())
    return found


@pytest.fixture(scope="module")
def arrived(tmp_path_factory):
    """What :func:`observe` finds in a process of its own."""
    with ProcessPoolExecutor(1, CONTEXT) as pool:
        return pool.submit(observe, tmp_path_factory.mktemp("runs")).result()


@pytest.mark.parametrize("command_name", COMMANDS)
def test_every_setting_arrives(command_name, arrived):
    """Its value is read where it is used, or handed over by name."""
    assert {(kind, item.name) for kind in kinds_of(command_name) for item in fields(kind)} - arrived[
        command_name
    ] == set()


VALUES = (False, True, 0, 3, 1e-6, 0.5, 2.0, "AP@9", "AP@8", "/a", "/b", ["a"], ["4"], ["http://a"], ["http://b"])
VALUES += ([3], [4], {"a": 3}, {"a": [3]}, {"complex": "hyde"}, {"hyde": 1}, {"hyde": 1.0})


def two_values(hint):
    """Two values of a type, false and 0 first; the same one twice if there is no other."""
    chosen = [hint, *get_args(hint)]
    options = [value for one in chosen if get_origin(one) is Literal for value in get_args(one)]
    listed = [[value] for value in options] if get_origin(hint) is list else options
    found = [value for value in (*listed, *VALUES) if is_value(hint, value)]
    return found[0], (found * 2)[1]


def is_value(hint, value):
    try:
        return TypeAdapter(hint).validate_python(value, strict=True) == value
    except ValidationError:
        return False


def hints_of(config):
    """The types of the settings."""
    hints = get_type_hints(config, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def values_in(config, number):
    """One of the two values of each setting."""
    return {
        name: values_in(hint, number) if is_dataclass(hint) else two_values(hint)[number]
        for name, hint in hints_of(config).items()
    }


def words_of(values, before=""):
    """Settings as arguments."""
    for name, value in values.items():
        if isinstance(value, dict) and value not in VALUES:
            yield from words_of(value, f"{name}.")
        else:
            yield f"--{before}{name}"
            yield from map(str, value) if isinstance(value, list) and not before else [json.dumps(value).strip('"')]


@pytest.mark.parametrize("command_name", COMMANDS)
@pytest.mark.parametrize("number", [0, 1])
def test_every_setting_is_what_a_file_or_the_command_line_gives(command_name, number, tmp_path):
    main = module_of(command_name).main
    values, others = (values_in(settings_of(main), one) for one in (number, 1 - number))
    words = list(words_of(values))
    for given, arguments in ((values, []), ({}, words), (others, words)):
        (tmp_path / "config.yaml").write_text(json.dumps(given))  # not yaml.safe_dump, which writes aliases
        read = command.parse(main, ["--config", str(tmp_path / "config.yaml"), *arguments])
        assert asdict(read) == values


@pytest.mark.parametrize("group", [Bm25Options, RewardSettings, LimitSettings])
def test_defaults_are_those_of_the_code(group):
    [taken] = HANDED_OVER[group]
    for item in fields(group):
        assert signature(taken).parameters[item.name].default == item.default, item.name


def bounds_of(config, before=""):
    """Name of each number or list of numbers, with the values just outside its bounds."""
    for name, hint in hints_of(config).items():
        if is_dataclass(hint):
            yield from bounds_of(hint, f"{before}{name}.")
        elif get_origin(hint) is not Literal and {int, float} & {
            getattr(one, "__origin__", one) for one in (hint, *get_args(hint))
        }:
            limits = [limit for one in (hint, *get_args(hint)) for limit in getattr(one, "__metadata__", ())]
            yield f"{before}{name}", [OUTSIDE[type(limit)](*astuple(limit)) for limit in limits]


OUTSIDE = {Ge: lambda least: least - 1, Gt: lambda least: least, Le: lambda most: most + 1, Lt: lambda most: most}


@pytest.mark.parametrize("command_name", COMMANDS)
def test_a_number_outside_its_bounds_is_refused_before_anything_is_loaded(command_name):
    main = module_of(command_name).main
    words = list(words_of(values_in(settings_of(main), 0)))
    for name, outside in bounds_of(settings_of(main)):
        assert outside, f"{name} has no bounds"
        for value in outside:
            with pytest.raises(ConfigError, match=rf"{name}\b"):
                command.parse(main, [*words, f"--{name}={value}"])


UNUSED = {
    "data": ["--limit=3", "--sources=a", "--documents=a", "--max_skipped=1"],
    "index": [
        "--kind=bm25 --split_passages",
        "--kind=bm25 --faiss.factory=HNSW64",
        "--bm25.k1=2",
        "--kind=bm25 --plan",
    ],
    "search": ["--strategy.num_variants=5", "--strategy.timeout=9", "--rrf_k=9", "--rerank_depth=9"],
    "evaluate": ["--reformulator hyde=openai:m --strategy.max_parts=5", "--rerank_depth=9", "--seed=9"],
    "label": ["--strategy.timeout=9"],
    "grpo": ["--hardest_fraction=.5"],
    "train-scorer": ["--task hop --price=1", "--task choice --model m --reformulator rules"],
    "serve": [
        "--max_model_calls=5",
        "--strategies raw rules --strategy.domain law",
        "--result_cache_size 0 --cache_ttl 5",
        "--retriever a --limits.concurrency 1",
    ],
}
"""Command -> settings, one of which the run does not use."""
USED = {
    "data": ["--dataset files --documents a --max_skipped=1", "--dataset union --sources a b --limit=3"],
    "index": ["--kind hybrid --bm25.k1=2 --faiss.factory=HNSW64 --plan"],
    "search": ["--reformulator hyde+multi_query --model openai:m --strategy.num_variants=5 --strategy.timeout 9"],
    "evaluate": [
        "--fusion rrf+reranker --reranker rerank:m --rerank_depth 9",
        "--reformulator raw adaptive=m --strategy.domain law",
    ],
    "serve": ["--answer_model anthropic:m --max_model_calls 5 --strategy.max_retries 5 --strategies policy=x"],
}


@pytest.mark.parametrize("command_name", UNUSED)
def test_a_setting_that_nothing_of_a_run_uses_is_refused(command_name, tmp_path):
    main = module_of(command_name).main
    values = values_in(settings_of(main), 0)
    needed = {i.name: values[i.name] for i in fields(settings_of(main)) if default_of(i) is MISSING}
    (tmp_path / "needed.yaml").write_text(json.dumps(needed))
    for words in (*UNUSED[command_name], *USED.get(command_name, ())):
        config = command.parse(main, ["--config", str(tmp_path / "needed.yaml"), *words.split()])
        if words in UNUSED[command_name]:
            with pytest.raises(ConfigError, match="does not use it"):
                check_used(config)
        else:
            check_used(config)
