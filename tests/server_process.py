"""Runs serving commands as separate processes."""

import os
import re
import resource
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

from shared import ACQO

ROOT = Path(__file__).parents[1]


class Server:
    """A process, its address and its log lines."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self.url = None
        self._up = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                self.url = found[1]
                self._up.set()
        self._up.set()

    def wait_until_up(self):
        assert self._up.wait(100)
        assert self.url, "".join(self.lines)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(30)
        self._reader.join(10)
        self.process.stdout.close()
        return status


@contextmanager
def started(command, *arguments, files=None, **environment):
    """Runs a server; it may open at most ``files`` files."""
    process = subprocess.Popen(
        [*ACQO, command, "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))),
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment},
    )
    server = Server(process)
    try:
        server.wait_until_up()
        yield server
    finally:
        if process.poll() is None:
            server.end()
