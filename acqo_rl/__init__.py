"""Train a small language model to decide when to search more, then serve it."""

__version__ = "0.1.0"
