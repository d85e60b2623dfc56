#!/usr/bin/env bash
# Everything that has to hold before a change lands: style, types, one-way imports, tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
ruff check .
ruff format --check .
mypy
lint-imports
pytest "$@"
