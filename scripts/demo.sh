#!/usr/bin/env bash
# From nothing to a trained, evaluated, exported and searchable reformulator, offline but for the package registry.
# Start it again after an interruption: it goes on where it was.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

OUT=${OUT:-outputs/demo}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false HF_HUB_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=error
acqo train --config configs/train/embedded.yaml --output_dir "$OUT"
python scripts/show_demo.py --output_dir "$OUT"
