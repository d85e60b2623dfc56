r"""Serve the tools search and reformulate to a language model over stdin and stdout (Model Context Protocol).

    acqo mcp --config configs/serve/embedded.yaml
    acqo mcp --collections wiki=data/wiki,indexes/wiki --strategies policy=outputs/mine/policy rules

MCP clients start the command themselves. Example of a client's configuration:

    {"mcpServers": {"acqo-rl": {"command": "acqo", "args": ["mcp", "--collections", "wiki=/data/wiki,/indexes/wiki"]}}}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.groups import WithStrategy
from acqo_rl.serving.load import ServiceSettings, load_service


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(ServiceSettings, WithStrategy, description=__doc__)


def main(settings: ServiceSettings, config: WithStrategy) -> None:
    """Loads the service without its answer model, then serves until stdin is closed."""
    from acqo_rl.integrations.mcp import make_server, run

    service = load_service(replace(settings, answer_model=None), config.strategy)
    try:
        run(make_server(service))
    finally:
        service.close()
