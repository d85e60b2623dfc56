"""What a table of times says about the machine that it was measured on."""

from __future__ import annotations

import os
import re
from pathlib import Path

_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
_QUIET = 0.2
"""Highest number of other processes that want to run, for each core, on a quiet machine."""


def describe(load: float) -> str:
    """One line for the head of a table: processor, its instructions, cores, threads of torch, and load.

    Args:
        load: mean number of processes that wanted to run in the minute before the first measurement.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    flags = set((re.search(r"^flags\s*: (.*)$", text, re.M) or [""])[0].split())
    known = " ".join(flag for flag in _FLAGS if flag in flags) or "instructions unknown"
    state = "quiet" if load <= _QUIET * cores else "NOT QUIET: compare figures of this table only with each other"
    return (
        f"{name[1] if name else 'unknown processor'} ({known}), {usable} of {cores} cores, "
        f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}, load before the run {load:.1f}: {state}"
    )


def load() -> float:
    """Mean number of processes that wanted to run in the last minute."""
    return os.getloadavg()[0]
