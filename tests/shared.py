"""What tests of several rooms begin with: a few places, a script as a module, a server in a thread."""

from __future__ import annotations

import importlib.util
import sys
import threading
from contextlib import contextmanager

PLACES = {"Peru": "Lima", "Chad": "Ndjamena", "Norway": "Oslo", "Japan": "Tokyo", "Kenya": "Nairobi", "Cuba": "Havana"}


def load_script(path, name):
    """The module of a script, known by a name of its own, so that its dataclasses find it."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def in_thread(server, waiting):
    """A server of http.server in a thread; at the end the event lets handlers go that wait for it."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        waiting.set()
        server.shutdown()
        server.server_close()
        thread.join()
