"""Runs serving commands as separate processes."""

import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from shared import ACQO

ROOT = Path(__file__).parents[1]


class Server:
    """A process, its address and, after its end, its log lines."""

    def __init__(self, process, log):
        self.process = process
        self._log = log
        self.lines = []

    def wait_until_up(self):
        end = time.monotonic() + 100
        while not (found := re.search(r"running on (http://\S+)\s", self._log.read_text())):
            assert self.process.poll() is None and time.monotonic() < end, self._log.read_text()
            time.sleep(0.02)
        self.url = found[1]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.lines = self._log.read_text().splitlines(keepends=True)


@contextmanager
def started(command, *arguments, files=None, **environment):
    """Runs a server; it may open at most ``files`` files."""
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [*ACQO, command, "--port", "0", *map(str, arguments)],
            stdout=log,
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))),
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment},
        )
        server = Server(process, Path(log.name))
        try:
            server.wait_until_up()
            yield server
        finally:
            server.end()
