#!/usr/bin/env bash
# Everything that has to hold before a change lands: style, types, one-way imports, tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# Two processes of one thread each: most tests wait for imports and files, and small models gain nothing from threads.
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
ruff check .
ruff format --check .
mypy
lint-imports
pytest --numprocesses 2 --dist loadfile "$@"
