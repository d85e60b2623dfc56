"""The searcher where people build: LangChain, LlamaIndex, Haystack, DSPy and the Model Context Protocol.

Each module is a thin adapter with an extra of its name; importing one whose package is missing says which extra to
install.
"""

from __future__ import annotations

from acqo_rl.errors import MissingPackageError


def missing(extra: str, error: ImportError) -> MissingPackageError:
    """What to raise where a package of an extra cannot be imported."""
    package = (error.name or "").partition(".")[0]
    return MissingPackageError(
        f"This integration needs the package {package}: pip install 'acqo-rl[{extra}]'.", name=error.name
    )
