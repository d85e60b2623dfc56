#!/usr/bin/env bash
# Everything that has to hold before a change lands: style, types, one-way imports, tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# A passive wait keeps OpenMP threads from spinning where other processes share the cores.
export OMP_WAIT_POLICY=PASSIVE HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
ruff check .
ruff format --check .
mypy
lint-imports
pytest "$@"
