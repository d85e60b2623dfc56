"""Runs ``acqo grpo`` from a checkout."""

import sys

from acqo_rl.cli import main

if __name__ == "__main__":
    main(["grpo", *sys.argv[1:]])
