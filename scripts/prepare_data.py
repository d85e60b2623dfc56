"""Runs ``acqo data`` from a checkout."""

from acqo_rl.cli import launch

if __name__ == "__main__":
    launch("data")
