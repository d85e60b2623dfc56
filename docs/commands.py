"""Adds the page of commands to the site: the ``--help`` of every command. A hook of mkdocs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_HEAD = """\
# Commands

`acqo COMMAND` runs one of the commands below. `acqo COMMAND --help` prints the same text.

Every setting can be given on the command line or in a YAML file (`--config FILE`). The command line overrides the file,
and an unknown key is an error in both. Groups of settings are mappings; `--reward.cost 0.02` sets one key.
`--config NAME` finds the configs that come with the package, such as `--config embedded` for
`configs/serve/embedded.yaml` of `acqo serve`.
"""


def page() -> str:
    """The text of the page."""
    from acqo_rl.cli import COMMANDS, module_of
    from acqo_rl.cli.command import help_of

    index = [f"| [`{name}`](#{name}) | {what} |" for name, what in COMMANDS.items()]
    parts = [_HEAD, "\n".join(["| command | what it does |", "|---|---|", *index]) + "\n"]
    for name in COMMANDS:
        lines = (line.rstrip() for line in help_of(module_of(name).main).strip().splitlines())
        parts.append("\n".join([f"## {name}", "", "```text", *lines, "```"]) + "\n")
    return "\n".join(parts)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds ``commands.md`` to the pages of the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "commands.md", content=page()))
    return files
