"""The command ``acqo``: one module per subcommand, each with a dataclass of settings and ``main(config)``."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from acqo_rl import __version__
from acqo_rl.errors import did_you_mean

COMMANDS = {
    "data": "write a data set as a BEIR folder, from your own files or a public data set",
    "index": "build a dense, BM25 or hybrid index",
    "search": "search a corpus: one query, or a conversation",
    "evaluate": "evaluate reformulators, indexes and fusions on a data set",
    "shadow": "report what a search would do to the queries of a log",
    "label": "make a data set from documents without queries",
    "headroom": "estimate whether training is worth it, before anything is trained",
    "train": "run the whole recipe: warm start, both stages of GRPO, export, evaluation",
    "warm-start": "fine-tune a base model on examples selected by the reward",
    "grpo": "run one stage of GRPO",
    "train-scorer": "train the networks that read results: hops, the choice of auto, and the order",
    "push": "export a trained policy, write its model card, push it to the Hub",
    "serve": "serve searches and answers over HTTP or as tools (MCP), or an index to other processes",
    "reproduce": "run published evaluations again and compare the figures",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a subcommand; without arguments, lists all subcommands. If the reader of the output ends, so does this."""
    try:
        try:
            _run(*((sys.argv[1:] if arguments is None else arguments) or ["--help"]))
        finally:
            sys.stdout.flush()  # here, so that a closed pipe is noticed before the process exits
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


def _run(name: str, *rest: str) -> None:
    """Runs a subcommand, prints what there is, or writes the agent skill."""
    if name in ("-h", "--help"):
        print(overview())
    elif name == "--version":
        print(__version__)
    elif name == "--skill" and len(rest) == 1:
        print(f"Wrote {write_skill(Path(rest[0]))}.")
    elif name in COMMANDS:
        from acqo_rl.cli import command

        command.run(module_of(name).main, rest)
    else:
        unknown = f"Unknown command {name!r}{did_you_mean([name], COMMANDS)}; choose one of {', '.join(COMMANDS)}"
        wrong = "Give one folder of skills, such as --skill ~/.claude/skills" if name == "--skill" else unknown
        sys.stderr.write(f"error: {wrong}.\n")
        raise SystemExit(2)


def module_of(name: str) -> ModuleType:
    """The module of a subcommand."""
    return import_module(f"acqo_rl.cli.{name.replace('-', '_')}")


def write_skill(folder: Path) -> Path:
    """Writes the agent skill of this package, which explains the commands, to a folder of skills; returns its file."""
    file = folder.expanduser() / "adaptive-search" / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((Path(__file__).parents[1] / "templates" / "skill.md").read_bytes())
    return file


def overview() -> str:
    """All subcommands, one per line."""
    lines = [f"  {name:17} {what}" for name, what in COMMANDS.items()]
    more = [
        "acqo COMMAND --help shows its settings and examples.",
        "acqo --skill ~/.claude/skills writes an agent skill, which explains the commands to an AI agent.",
    ]
    return "\n".join(["usage: acqo COMMAND [settings]", "", *lines, "", *more])
