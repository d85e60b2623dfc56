"""The embedded data set: a BEIR folder of generated questions and passages, shipped in ZIP archives.

The README in each archive describes the data set and its sources. ``embedded_more.zip`` adds the split ``train-more``,
and ``embedded_bridge.zip`` the splits ``train-bridge``, ``dev-bridge`` and ``test-bridge``.
"""

import shutil
from pathlib import Path

EMBEDDED = ("embedded", "embedded_more", "embedded_bridge")
"""Names of the data set without and with further splits."""


def write_embedded(folder: str | Path, name: str = EMBEDDED[0]) -> str:
    """Writes the embedded data set as a BEIR folder; the other splits are the same under all names.

    Args:
        folder: output folder.
        name: one of ``EMBEDDED``.

    Returns:
        The text of its README.
    """
    for part in dict.fromkeys((EMBEDDED[0], name)):
        shutil.unpack_archive(Path(__file__).with_name(f"{part}.zip"), folder)
    return Path(folder, "README.md").read_text(encoding="utf-8")
