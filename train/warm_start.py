"""Runs ``acqo warm-start`` from a checkout."""

import sys

from acqo_rl.cli import main

if __name__ == "__main__":
    main(["warm-start", *sys.argv[1:]])
