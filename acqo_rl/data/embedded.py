"""The embedded data set: a BEIR folder of generated questions and passages, shipped in ZIP archives.

The README in each archive describes the data set and its sources. ``embedded_more.zip`` adds the split ``train-more``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from acqo_rl.files import write_atomic

EMBEDDED = ("embedded", "embedded_more")
"""Names of the data set without and with the split ``train-more``."""


def write_embedded(folder: str | Path, name: str = EMBEDDED[0], command: str = "") -> None:
    """Writes the embedded data set as a BEIR folder; the other splits are the same under both names.

    Args:
        folder: output folder.
        name: one of ``EMBEDDED``.
        command: command that writes the folder, for its README.
    """
    for part in dict.fromkeys((EMBEDDED[0], name)):
        shutil.unpack_archive(Path(__file__).with_name(f"{part}.zip"), folder)
    readme = Path(folder, "README.md")
    write_atomic(readme, [readme.read_text(encoding="utf-8"), f"Written by `{command}`."])
