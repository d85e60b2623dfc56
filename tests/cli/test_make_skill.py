"""The agent skill: its format and its commands."""

from __future__ import annotations

import re

import pytest
import yaml
from test_entry_points import BLOCK, accept, commands

from acqo_rl.cli.skill import SkillConfig, main
from acqo_rl.errors import ConfigError


def test_a_skill_of_somebody_else_is_left_alone(tmp_path):
    theirs = tmp_path / "adaptive-search" / "SKILL.md"
    theirs.parent.mkdir()
    theirs.write_text("# My own")
    with pytest.raises(ConfigError):
        main(SkillConfig(str(tmp_path)))
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["# My own"]


def test_a_skill_has_the_open_format_and_valid_commands(tmp_path):
    """agentskills.io: name as the folder's, lower case, at most 64; description at most 1,024, compatibility 500."""
    for _ in range(2):
        main(SkillConfig(str(tmp_path)))
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    _, text, body = re.split(r"^---\n", file.read_text(), maxsplit=2, flags=re.M)
    front = yaml.safe_load(text)
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert front["name"] == file.parent.name
    assert re.fullmatch(r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*", front["name"])
    assert 0 < len(front["description"]) <= 1024
    assert "Use when" in front["description"]
    assert not re.search(r"[<>]", front["description"])
    assert 0 < len(front["compatibility"]) <= 500
    assert len(body.splitlines()) < 500
    lines = [line for block in BLOCK.findall(body) for line in commands(block)]
    assert {line.split()[1] for line in lines} == {"index", "search", "serve", "evaluate"}
    for line in lines:
        accept(line, tmp_path)
