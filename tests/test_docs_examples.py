"""The Python examples of the documentation run, their names exist, and their printed output is true."""

import ast
import importlib
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from acqo_rl.cli import COMMANDS, module_of
from acqo_rl.cli.command import settings_of

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"(<!-- runnable -->\n)?```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def blocks(runnable):
    return [
        pytest.param(code, printed, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, (mark, code, printed) in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")))
        if bool(mark) is runnable
    ]


@pytest.mark.parametrize(("code", "printed"), blocks(runnable=True))
def test_an_example_prints_what_the_page_shows(code, printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec", dont_inherit=True), {"__name__": "example"})
    assert printed
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(("code", "printed"), blocks(runnable=False))
def test_names_that_an_example_imports_exist(code, printed):
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        if node.module.startswith("acqo_rl"):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)


def anchors(text):
    """The anchors of a page's headings, as forges and MkDocs make them."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for address in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        if "://" in address:
            continue
        path, _, anchor = address.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), address
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), address


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_is_on_a_page_or_in_a_config(command):
    """A setting that nobody sets or explains is not needed."""
    module = module_of(command)
    files = [*PAGES, *(ROOT / "configs").rglob("*.yaml")]
    text = "\n".join([module.__doc__, *(file.read_text(encoding="utf-8") for file in files)])
    words = set(re.findall(r"\w+", text))
    assert {item.name for item in fields(settings_of(module.main))} <= words


def test_the_site_builds_without_a_warning(tmp_path):
    """A page that is not in the navigation, a dead link or an unknown name of the API is a warning."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "site" / "commands.html").read_text(encoding="utf-8")
    assert all(f"usage: acqo {command} " in page for command in COMMANDS)
