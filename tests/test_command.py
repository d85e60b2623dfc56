"""Settings from YAML and the command line, and errors without a traceback."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge
from shared import ACQO

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.errors import AcqoError, ConfigError
from acqo_rl.settings import group, setting


@dataclass
class Inner:
    note: str = setting("A text.", "")
    limit: int = setting("A number.", 0)


@dataclass
class Config:
    data: str = setting("A folder.")
    rate: float = setting("A number.", 0.1)
    limit: int = setting("A whole number.", 0)
    names: list[str] = setting("Names.", ["a"])
    kinds: list[Literal["a", "b"]] = setting("Choices.", [])
    steps: Annotated[int, Ge(1)] | None = setting("A number or nothing.", None)
    index: Address | None = setting("A place or nothing.", None)
    vary: dict[str, list[int]] = setting("A mapping of lists.", {})
    stage: Literal["explore", "converge"] = setting("A choice.", "explore")
    fast: bool = setting("A switch.", True)
    note: str | None = setting("A text or nothing.", None)
    more: dict = setting("A mapping.", {})
    inner: Inner = group("Settings of another class.", Inner)


def main(config: Config) -> None:
    """A command."""


def run(error):
    def failing(config: Config):
        raise error

    command.run(failing, ["--data", "x"])


@pytest.fixture
def parse(tmp_path):
    def _parse(text, *arguments):
        (tmp_path / "config.yaml").write_text(text)
        return command.parse(main, ["--config", str(tmp_path / "config.yaml"), *arguments])

    return _parse


def test_numbers_in_a_file_are_texts_where_a_setting_is_a_text(parse):
    assert parse("data: 2024\nnames: [4]\nrate: 1\n") == Config("2024", 1.0, names=["4"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("data: x\nlimit: 2.5\n", r"limit.*2\.5"),
        ("data: x\ninner: {limits: 3}\n", r"inner\.limits.*mean limit\?"),
        ("data: x\nstagee: converge\n", r"stagee.*mean stage\?"),
        ("limit: 3\n", "data is required"),
        ("- x\n", "mapping"),
        ("data: x\nnames:\n- {a: 1}\n", r"names\.0"),
        ("data: x\nrate: .inf\n", "inf"),
        ("data: [\n", "line 2"),
        ("data: \x07\n", "position"),
        ("a: &a [x]\ndata: *a\n", r"aliases(.|\n)*line 2"),
        ("a: &a {b: *a}\n", "aliases"),
        ("data: x\ndata: y\n", r"'data' is there twice(.|\n)*line 2"),
        ("data: x\ninner: {limit: 3, 'limit': 4}\n", "'limit' is there twice"),
        (f"data: {'[' * 5000}", "nested too deeply"),
        (f"data: {'{' * 101}{'}' * 101}", "nested too deeply"),
    ],
)
def test_an_invalid_file_is_rejected_with_its_name(parse, text, named):
    with pytest.raises(ConfigError, match=named) as raised:
        parse(text)
    assert ("config.yaml" in str(raised.value)) == ("required" not in named)


def test_a_wrong_value_of_the_command_line_is_not_said_to_be_in_a_file(parse):
    with pytest.raises(ConfigError, match=r"inner\.limit is 'x'"):
        parse("data: x\ninner: {limit: 3}\n", "--inner.limit", "x")


@pytest.mark.parametrize("text", ["1.10", "1e3", "007", "true", "null"])
def test_a_text_of_a_group_is_what_was_written(parse, text):
    assert parse("data: x\n", f"--inner.note={text}").inner.note == text


def test_a_number_in_yaml_or_json_is_written_to_a_text_as_it_is(parse):
    assert parse("data: 1.10\ninner: {note: 2.50}\n") == Config("1.10", inner=Inner("2.50"))
    assert parse("data: x\n", "--inner", '{"note": 1.10}').inner == Inner("1.10")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--limi", "3"], "limi is unknown"),  # an abbreviation, which a later version might read differently
        (["--stagee=x"], r"stagee.*mean stage\?"),
        (["--more", "no mapping"], "more"),
        (["--config"], "config"),
        (["--limit", "1", "2"], "limit.*found '1' and '2'"),
        (["--config.x", "1"], "config is unknown"),
        (["--data"], "data"),
    ],
)
def test_invalid_arguments_are_rejected(parse, words, named):
    with pytest.raises(ConfigError, match=named):
        parse("data: x\n", *words)


def test_a_later_file_overrides_an_earlier_one(parse, tmp_path):
    (tmp_path / "later.yaml").write_text("rate: 3\nmore: {a: {b: 4}}\n")
    first = "data: x\nrate: 2\nlimit: 1\nmore: {a: {b: 1, c: 2}, d: 3}\n"
    read = parse(first, "--config", str(tmp_path / "later.yaml"))
    assert read == Config("x", 3.0, 1, more={"a": {"b": 4, "c": 2}, "d": 3})


def test_keys_of_a_mapping_are_given_one_by_one_and_others_are_kept(parse):
    words = "--more.rate 1e-6 --more.steps=60 --more.fast True --more.note none --more.off null --more.inner.b 5"
    more = parse("data: x\nmore: {steps: 3, inner: {a: 1, b: 2}}\n", *words.split()).more
    assert more == {"steps": 60, "inner": {"a": 1, "b": 5}, "rate": 1e-6, "fast": True, "note": "none", "off": None}
    assert parse("data: x\n", "--more", '{"rate": 2}').more == {"rate": 2}


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (AcqoError("do this"), 2, "error: do this\n"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (NotADirectoryError(20, "Not a directory", "file/folder"), 2, "file/folder"),
        (ModuleNotFoundError("No module named 'ir_measures'", name="ir_measures"), 2, "acqo-rl[train]"),
    ],
)
def test_expected_errors_have_no_traceback(capsys, error, status, message):
    with pytest.raises(SystemExit) as ended:
        run(error)
    assert ended.value.code == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), FileNotFoundError(2, "x"), ModuleNotFoundError("x", name="acqo_rl.nonsense")]
)
def test_unexpected_errors_keep_their_traceback(error):
    with pytest.raises(type(error)):
        run(error)


def test_help_shows_the_text_the_defaults_and_what_is_required():
    shown = command.help_of(main)
    assert __doc__ in shown
    assert "(default: explore)" in shown
    assert shown.count("(required)") == 1
    assert "None" not in shown
    assert "Keys: note, limit." in shown


def test_a_closed_output_pipe_causes_no_traceback():
    with subprocess.Popen([*ACQO, "reproduce"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_shipped_config_is_found_by_its_name_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "embedded").mkdir()
    monkeypatch.chdir(tmp_path)
    assert command.find_config("embedded", "train") == command.configs_folder() / "train" / "embedded.yaml"
    for wrong in ("embeded", "configs/train/embedded.yaml"):
        with pytest.raises(FileNotFoundError, match=r"\(did you mean embedded\?\)"):
            command.find_config(wrong, "train")
