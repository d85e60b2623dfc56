"""The agent skill: its format, its commands and its links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from shared import ACQO
from test_entry_points import BLOCK, accept, commands

from acqo_rl import __version__

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[[^]]+\]\(([^)]+)\)")


def make(output):
    words = [*ACQO, "skill", "--output", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.fixture(scope="module")
def skill(tmp_path_factory):
    output = tmp_path_factory.mktemp("skills")
    assert str(output / "adaptive-search" / "SKILL.md") in make(output)
    return output / "adaptive-search"


def test_a_skill_of_somebody_else_is_left_alone(tmp_path):
    theirs = tmp_path / "adaptive-search" / "SKILL.md"
    theirs.parent.mkdir()
    theirs.write_text("# My own")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        make(tmp_path)
    assert (raised.value.returncode, "move it away" in raised.value.stderr) == (2, True)
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["# My own"]


@pytest.fixture(scope="module")
def front_and_body(skill):
    _, front, body = re.split(r"^---\n", (skill / "SKILL.md").read_text(), maxsplit=2, flags=re.M)
    return yaml.safe_load(front), body


@pytest.mark.slow
def test_front_matter_is_of_the_open_format(skill, front_and_body):
    """agentskills.io: name as the folder's, lower case, at most 64; description at most 1,024, compatibility 500."""
    front, body = front_and_body
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert front["name"] == skill.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", front["name"])
    assert len(front["name"]) <= 64
    assert 0 < len(front["description"]) <= 1024
    assert "Use when" in front["description"]
    assert not re.search(r"[<>]", front["description"])
    assert 0 < len(front["compatibility"]) <= 500
    assert front["metadata"] == {"version": __version__}
    assert all(isinstance(value, str) for value in front["metadata"].values())
    assert len(body.splitlines()) < 500


@pytest.mark.slow
def test_every_command_is_accepted_and_explained(skill, front_and_body, tmp_path):
    _, body = front_and_body
    lines = [line for block in BLOCK.findall(body) for line in commands(block)]
    assert len(lines) >= 7
    names = {line.split()[1] for line in lines}
    for line in lines:
        accept(line, tmp_path)
    references = {path.stem: path.read_text() for path in (skill / "references").iterdir()}
    assert set(references) == names
    for name, text in references.items():
        assert f"usage: acqo {name} " in text
        assert "--config FILE" in text
    assert str(Path(sys.executable).parent) in body


@pytest.mark.slow
def test_every_link_leads_somewhere_and_nothing_else_is_there(skill, front_and_body):
    links = set(LINK.findall(front_and_body[1]))
    files = {str(path.relative_to(skill)) for path in skill.rglob("*") if path.is_file()}
    assert files == links | {"SKILL.md"}
