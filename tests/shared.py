"""What tests of several rooms begin with: a few places, a script as a module, a folder with an index."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from acqo_rl.data.beir import write_beir
from acqo_rl.retrieval.build import build_bm25_index

PLACES = {"Peru": "Lima", "Chad": "Ndjamena", "Norway": "Oslo", "Japan": "Tokyo", "Kenya": "Nairobi", "Cuba": "Havana"}


ENVIRONMENT = {
    **os.environ,
    **{"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "100"},
    "PYTHONPATH": str(Path(__file__).parents[1]),
}
"""Of processes."""
ACQO = (sys.executable, "-m", "acqo_rl.cli")
"""The command, as it is run without being installed."""


def load_script(path, name):
    """Loads a script as a module; it is registered under ``name``, because its dataclasses need that.

    The script can import its neighbours, as when Python runs it.
    """
    if str(Path(path).parent) not in sys.path:
        sys.path.append(str(Path(path).parent))
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bm25_folder(folder, documents):
    """Writes documents and a BM25 index of them, in the folder ``index``; returns the setting of a collection."""
    write_beir(folder, documents, [], {})
    build_bm25_index(folder / "index", documents)
    return f"{folder},{folder}/index"


def help_of(*names):
    """What ``acqo NAME --help`` prints for each name, and the imported packages that take seconds to import."""
    code = (
        "import io, json, sys\n"
        "from contextlib import redirect_stdout, suppress\n"
        "from acqo_rl.cli import main\n"
        "printed = {}\n"
        "for name in sys.argv[1:]:\n"
        "    with redirect_stdout(io.StringIO()) as printed[name], suppress(SystemExit): main([name, '--help'])\n"
        "slow = {'torch', 'transformers', 'faiss', 'datasets', 'peft', 'trl', 'sentence_transformers'}\n"
        "print(json.dumps([{n: p.getvalue() for n, p in printed.items()}, sorted(slow & set(sys.modules))]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
