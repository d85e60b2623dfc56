r"""Write an agent skill, which explains the commands to an AI agent.

    acqo skill --output ~/.claude/skills
    acqo skill --output .agents/skills

The command writes the folder adaptive-search in the open Agent Skills format: SKILL.md, and the help of each command
in references/. It replaces a skill that it wrote earlier, but not a skill of another origin with the same name.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from acqo_rl import __version__
from acqo_rl.cli import command, parser_of
from acqo_rl.cli.fields import setting
from acqo_rl.errors import ConfigError

NAME = "adaptive-search"
TITLE = "# Adaptive search"
EXPLAINED = ("index", "search", "serve", "evaluate")
COLUMNS = "110"


@dataclass
class SkillConfig:
    """Settings of the skill."""

    output: str = setting("Folder in which the agent looks for skills.")


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(SkillConfig, description=__doc__)


def main(config: SkillConfig) -> None:
    """Writes the skill."""
    from jinja2 import Environment, StrictUndefined

    from acqo_rl.files import write_atomic

    template = (files("acqo_rl") / "templates" / "skill.md").read_text(encoding="utf-8")
    skill = Environment(undefined=StrictUndefined).from_string(template)
    folder = Path(config.output).expanduser() / NAME
    file = folder / "SKILL.md"
    if file.exists() and TITLE not in file.read_text(encoding="utf-8", errors="replace"):
        raise ConfigError(f"{file} was not written by this command: move it away, or give another --output.")
    os.environ["COLUMNS"] = COLUMNS  # argparse wraps lines at this width
    for name in EXPLAINED:
        lines = [f"# acqo {name}", "", "```text", *parser_of(name).format_help().splitlines(), "```"]
        write_atomic(folder / "references" / f"{name}.md", lines)
    text = skill.render(name=NAME, version=__version__, programs=shlex.quote(str(Path(sys.executable).parent)))
    write_atomic(file, text.splitlines())
    print(f"Wrote {file} with {len(EXPLAINED)} references.")
