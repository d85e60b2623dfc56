"""Every setting of every command arrives: it is read by code that is given the settings, or is a named argument."""

import ast
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import get_type_hints

import pytest

from acqo_rl.cli import COMMANDS, module_of
from acqo_rl.cli.command import settings_of
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.server_encoder import ServerEncoder
from acqo_rl.serving.limits import Limits
from acqo_rl.training.rewards import Reward

PACKAGE = Path(__file__).parents[2] / "acqo_rl"
HANDED_OVER = {
    "encoding": (SentenceTransformerEncoder, ServerEncoder),
    "faiss": (build_dense_index,),
    "bm25": (build_bm25_index,),
    "prompt": (PolicySettings,),
    "reward": (Reward,),
    "limits": (Limits,),
}
"""Group of settings -> what takes them as named arguments."""


@cache
def read_in(file):
    """The names in a module: all of them, and those of attributes and texts that are read."""
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.name for n in nodes if isinstance(n, ast.ClassDef)}
    values = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    return names, values | {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def unread(settings):
    """The settings that no module reads which names their class, or a class that it inherits from."""
    classes = {one.__name__ for one in settings.__mro__ if is_dataclass(one)}
    found = map(read_in, PACKAGE.rglob("*.py"))
    values = set().union(*(values for names, values in found if names & classes))
    return {item.name for item in fields(settings)} - values


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_arrives(command):
    config = settings_of(module_of(command).main)
    assert unread(config) == set()
    for name, hint in get_type_hints(config).items():
        if is_dataclass(hint):
            taken = [set(signature(one).parameters) for one in HANDED_OVER.get(name, ())]
            assert unread(hint) - set().union(*taken) == set(), name


@pytest.mark.parametrize("group", ["bm25", "reward", "limits"])
def test_defaults_are_those_of_the_code(group):
    configs = (settings_of(module_of(command).main) for command in COMMANDS)
    config = next(config for config in configs if group in get_type_hints(config))
    [taken] = HANDED_OVER[group]
    for item in fields(get_type_hints(config)[group]):
        assert signature(taken).parameters[item.name].default == item.default, item.name
