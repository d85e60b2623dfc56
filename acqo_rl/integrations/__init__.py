"""Adapters for LangChain and the Model Context Protocol (MCP).

Each module needs the extra of the same name; importing it without its packages raises an error that names the extra.
"""

from acqo_rl.errors import MissingPackageError


def missing(extra: str, error: ImportError) -> MissingPackageError:
    """Returns the error to raise if a package of an extra cannot be imported."""
    package = (error.name or "").partition(".")[0]
    return MissingPackageError(
        f"This integration needs the package {package}: pip install 'acqo-rl[{extra}]'.", name=error.name
    )
