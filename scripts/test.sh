#!/usr/bin/env bash
# All checks before a change is merged: style, types, imports, tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# Two processes with one thread each, because most tests wait for imports and files, and small models do not use threads.
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
ruff check .
ruff format --check .
# Beside the tests, because mypy uses one core.
(mypy && lint-imports) &
types=$!
trap 'kill "$types" 2>/dev/null || true' EXIT
# In the order of collection (tests/conftest.py): otherwise the files with the fewest tests, which take longest, run last.
pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder "$@"
wait "$types"
