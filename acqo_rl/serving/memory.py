"""Memory of a process that runs for long."""

from __future__ import annotations

import ctypes
import sys

_M_MMAP_THRESHOLD = -3
_BLOCK = 32 * 1024


def return_freed_blocks() -> None:
    """Makes the C library return freed blocks of 32 KB or more to the operating system at once.

    By default, glibc keeps blocks of up to 32 MB once one of that size was freed. The attention caches of concurrent
    queries, about 100 KB per layer and query, leave gaps of several hundred MB there. Does nothing with other C
    libraries.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(_M_MMAP_THRESHOLD, _BLOCK)
