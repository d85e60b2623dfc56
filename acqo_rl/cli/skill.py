r"""Write an agent skill, which explains the commands to an AI agent.

    acqo skill --output ~/.claude/skills
    acqo skill --output .agents/skills

The command writes adaptive-search/SKILL.md in the open Agent Skills format. It replaces a skill that it wrote earlier,
but not a skill of another origin with the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from acqo_rl.cli.fields import setting
from acqo_rl.errors import ConfigError
from acqo_rl.files import write_atomic

NAME = "adaptive-search"
TITLE = "# Adaptive search"


@dataclass
class SkillConfig:
    """Settings of the skill."""

    output: str = setting("Folder in which the agent looks for skills.")


def main(config: SkillConfig) -> None:
    """Writes the skill."""
    file = Path(config.output).expanduser() / NAME / "SKILL.md"
    if file.exists() and TITLE not in file.read_text(encoding="utf-8", errors="replace"):
        raise ConfigError(f"{file} was not written by this command: move it away, or give another --output.")
    skill = (files("acqo_rl") / "templates" / "skill.md").read_text(encoding="utf-8")
    write_atomic(file, skill.splitlines())
    print(f"Wrote {file}.")
