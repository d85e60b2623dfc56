"""Published results: figures are those of the documents, commands are accepted, pictures are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_entry_points import ROOT, accept

from acqo_rl.cli import command, module_of

PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*\ssrc=\"([^\"]+)\"")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def reproduce():
    return module_of("reproduce")


@pytest.fixture(scope="module")
def listed(reproduce):
    config = command.parse(reproduce.make_parser(), ["--config", str(ROOT / "configs" / "results.yaml")])[0]
    data_sets, results = reproduce.listing(config)
    return data_sets, reproduce.read_results(results)


def shown_pictures(text):
    """Addresses of pictures that lie in the repository."""
    return [a for pair in PICTURE.findall(text) for a in pair if a and "://" not in a]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_picture_that_a_document_shows_is_there(document):
    for address in shown_pictures(document.read_text()):
        assert (document.parent / address).read_bytes().startswith(b"\x89PNG"), address


def test_pictures_are_found_in_a_document():
    text = '![curve](figures/a.png) <img width="3" src="b.png"> ![far](https://example.org/c.png) [no](d.png)'
    assert shown_pictures(text) == ["figures/a.png", "b.png"]


def test_every_command_and_config_is_accepted(listed, tmp_path):
    data_sets, results = listed
    places = {name: str(tmp_path / name) for name in ("work", *data_sets)}
    commands = [result.command.format(**places) for result in results.values() if result.command]
    assert commands
    for line in commands:
        accept(line, tmp_path)


def test_every_figure_stands_in_a_document(reproduce, listed):
    """A figure that is published nowhere, or was changed in one place only, is noticed."""
    numbers = {float(n) for d in DOCUMENTS for n in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.]*\d)", d.read_text())}
    for name, result in listed[1].items():
        published = list(reproduce.leaves(result.figures))
        assert not published or result.tolerance > 0, name
        strange = {".".join(keys): value for keys, value in published if abs(value) not in numbers}
        assert strange == {}, name


def test_files_of_figures_are_made_by_a_command(listed):
    """The folder of every file is one that a command before it writes to."""
    written = ""
    for name, result in listed[1].items():
        written += f" {result.command} "
        folder = Path(result.file).parent
        folders = [str(parent) for parent in (folder, *folder.parents)][:-2]
        assert not result.file or any(f"{folder} " in written for folder in folders), name
