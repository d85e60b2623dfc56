"""Every setting of every command is what is given, is read, has bounds, and is refused where a run does not use it."""

import ast
import json
from dataclasses import MISSING, asdict, astuple, fields, is_dataclass
from inspect import signature
from pathlib import Path
from typing import ClassVar, Literal, get_args, get_origin, get_type_hints

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import TypeAdapter, ValidationError

from acqo_rl.cli import COMMANDS, command, module_of
from acqo_rl.cli.command import settings_of
from acqo_rl.cli.data import PrepareDataConfig
from acqo_rl.cli.index import Bm25Options, EncodingOptions, FaissOptions
from acqo_rl.data.importer import write_files
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
HANDED_OVER = {
    CallSettings: (StrategySettings,),
    EncodingOptions: (SentenceTransformerEncoder, ServerEncoder),
    FaissOptions: (build_dense_index,),
    Bm25Options: (build_bm25_index,),
    RewardSettings: (Reward,),
    LimitSettings: (Limits,),
    PrepareDataConfig: (write_files,),
}
"""Group of settings -> what takes all of them as named arguments."""


def kinds_of(command_name):
    """The dataclasses of a command's settings and of their groups."""
    config = settings_of(module_of(command_name).main)
    return {config, *filter(is_dataclass, get_type_hints(config).values())}


@pytest.fixture(scope="module")
def read():
    """The names of all attributes that the package reads."""
    nodes = (node for file in PACKAGE.rglob("*.py") for node in ast.walk(ast.parse(file.read_text())))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize("command_name", COMMANDS)
def test_every_setting_is_read_or_handed_over_by_name(command_name, read):
    for kind in kinds_of(command_name):
        takers = [set(signature(taker).parameters) for taker in HANDED_OVER.get(kind, ())]
        assert {item.name for item in fields(kind)} <= read.union(*takers)


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
    "index": ["--kind=bm25 --split_passages", "--kind=bm25 --faiss.factory=HNSW64", "--bm25.k1=2"],
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
    "index": ["--kind hybrid --bm25.k1=2 --faiss.factory=HNSW64"],
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
