"""Memory of a process that runs for long."""

import platform
import subprocess
import sys

import pytest

KEEPS_THE_LAST_OF_200_MB = """
import psutil
from acqo_rl.serving.server import return_freed_blocks

return_freed_blocks()
filled = bytearray(b"x") * (4 << 20)
del filled
blocks = [bytearray(b"x") * (1 << 20) for _ in range(200)]
before = psutil.Process().memory_info().rss
del blocks[:-1]
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_blocks_are_returned_although_a_later_one_is_in_use():
    done = subprocess.run([sys.executable, "-c", KEEPS_THE_LAST_OF_200_MB], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 150e6
