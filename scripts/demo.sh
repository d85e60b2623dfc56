#!/usr/bin/env bash
# Trains, evaluates and exports a policy, and searches with it; needs only the package registry, no model hub.
# Run it again after an interruption to resume.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

OUT=${OUT:-outputs/demo}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false HF_HUB_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=error
acqo train --config configs/train/demo.yaml --output_dir "$OUT"
python scripts/show_demo.py --output_dir "$OUT"
