r"""Write an agent skill: how an assistant that runs commands searches, builds indexes, serves and measures with us.

    python scripts/make_skill.py --output ~/.claude/skills
    python scripts/make_skill.py --output .agents/skills

It makes the folder adaptive-search there, in the open Agent Skills format: SKILL.md, and the help of each command in
references/. What an earlier call wrote is written anew; a skill of that name by somebody else is left alone.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl import __version__, command
from acqo_rl.errors import ConfigError

NAME = "adaptive-search"
TITLE = "# Adaptive search"
ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = ("build_index", "search", "serve", "serve_mcp", "evaluate")
COLUMNS = "110"


@dataclass
class SkillConfig:
    """Settings of a skill."""

    output: str = field(metadata={"help": "Folder of skills, where an assistant looks for them."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(SkillConfig, description=__doc__)


def main(config: SkillConfig) -> None:
    """Write the skill and say where it is."""
    from jinja2 import Environment, StrictUndefined

    from acqo_rl.data.beir import write_atomic

    template = (ROOT / "acqo_rl" / "templates" / "skill.md").read_text(encoding="utf-8")
    skill = Environment(undefined=StrictUndefined).from_string(template)
    folder = Path(config.output).expanduser() / NAME
    file = folder / "SKILL.md"
    if file.exists() and TITLE not in file.read_text(encoding="utf-8", errors="replace"):
        raise ConfigError(f"{file} is not a skill that this script wrote: move it away, or choose another --output.")
    for script in EXPLAINED:
        lines = [f"# scripts/{script}.py", "", "```text", *help_of(script).splitlines(), "```"]
        write_atomic(folder / "references" / f"{script}.md", lines)
    text = skill.render(name=NAME, version=__version__, root=shlex.quote(str(ROOT)))
    write_atomic(file, text.splitlines())
    print(f"Wrote {file} with {len(EXPLAINED)} references.")


def help_of(script: str) -> str:
    """What a script answers to --help."""
    words = [sys.executable, str(ROOT / "scripts" / f"{script}.py"), "--help"]
    environment = {**os.environ, "COLUMNS": COLUMNS}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout


if __name__ == "__main__":
    command.run(main, make_parser())
