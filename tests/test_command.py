"""Settings from YAML and the command line, and errors without a traceback."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from acqo_rl.cli import command
from acqo_rl.cli.fields import group, setting
from acqo_rl.errors import AcqoError, ConfigError


@dataclass
class Config:
    data: str = field(metadata={"help": "A folder."})
    rate: float = field(default=0.1, metadata={"help": "A number."})
    limit: int = field(default=0, metadata={"help": "A whole number."})
    names: list[str] = field(default_factory=lambda: ["a"], metadata={"help": "Names."})
    stage: Literal["explore", "converge"] = field(default="explore", metadata={"help": "A choice."})
    fast: bool = field(default=False, metadata={"help": "A switch."})
    note: str | None = field(default="x", metadata={"help": "A text or nothing."})
    more: dict = field(default_factory=dict, metadata={"help": "A mapping."})


@pytest.fixture
def parse(tmp_path):
    def _parse(yaml=None, *args):
        if yaml is not None:
            (tmp_path / "config.yaml").write_text(yaml)
            args = ("--config", str(tmp_path / "config.yaml"), *args)
        return command.parse(command.make_parser(Config, description="x"), args)[0]

    return _parse


def test_a_mapping_is_yaml_or_json(parse):
    assert parse("data: x\nmore: {rate: 1.0e-6}\n").more == {"rate": 1e-6}
    assert parse(None, "--data", "x", "--more", '{"rate": 2}').more == {"rate": 2}
    assert parse(None, "--data", "x").more == {}


def test_the_command_line_overrides_the_file(parse):
    assert parse("data: there\nlimit: 3\n", "--limit", "5") == Config("there", limit=5)
    assert parse(None, "--data", "here") == Config("here")


def test_values_in_a_file_are_parsed_like_the_command_line(parse):
    config = parse("data: 2024\nrate: 1e-6\nlimit: 7\nnames: b\nstage: converge\nfast: true\nnote: null\n")
    assert config == Config("2024", 1e-6, 7, ["b"], "converge", True, None)
    assert parse("data: x\nrate: 1\nnames: [c, 4]\n") == Config("x", 1.0, names=["c", "4"])


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("data: x\nrate: {a: 1}\n", "argument --rate: invalid float value: \"{'a': 1}\""),
        ("data: x\nfast: {a: 1}\n", "--fast"),
        ("data: x\nlimt: 3\n", "limt"),
        ("data: x\nlimit: 2.5\n", "limit.*invalid int value: '2.5'"),
        ("data: x\nlimit: many\n", "limit.*invalid int value: 'many'"),
        ("data: x\nstage: third\n", "stage.*invalid choice: 'third'"),
        ("data: [x, y]\n", r"data.*\['x', 'y'\]"),
        ("data: x\nnames: {a: 1}\n", "names.*{'a': 1}"),
        ("data: x\nfast: perhaps\n", "fast"),
        ("- x\n", "must be a mapping"),
        ("", "must be a mapping"),
        ("data: [\n", "--help"),
        ("data: \x00\n", "--help"),
    ],
)
def test_an_invalid_file_is_rejected(parse, yaml, message):
    with pytest.raises(ConfigError, match=message):
        parse(yaml)


def test_a_missing_file_is_rejected(parse, tmp_path):
    with pytest.raises(ConfigError, match="nowhere"):
        parse(None, "--config", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="--help"):
        parse(None, "--data", "x", "--config")
    with pytest.raises(ConfigError, match="--surprise"):
        parse(None, "--data", "x", "--surprise", "1")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [(AcqoError("do this"), 2, "error: do this\n"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_expected_errors_have_no_traceback(capsys, error, status, message):
    def main(config):
        raise error

    with pytest.raises(SystemExit) as ended:
        command.run(main, command.make_parser(Config, description="x"), ["--data", "x"])
    assert ended.value.code == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--limt", "3"], "--limt"),
        (["--limi", "3"], "--limi"),
        (["--limit", "many"], "invalid int value: 'many'"),
        (["--stage", "third"], "invalid choice: 'third'"),
    ],
)
def test_invalid_arguments_are_rejected(parse, args, message):
    """Abbreviations are rejected, too, because a later version might read them differently."""
    with pytest.raises(ConfigError, match=message):
        parse(None, "--data", "x", *args)


@pytest.mark.parametrize(
    ("word", "hint"), [("--stagee", "did you mean --stage?"), ("--nothing_like_it=1", None), ("surplus", None)]
)
def test_an_unknown_argument_is_named_with_the_one_that_is_meant(parse, word, hint):
    with pytest.raises(ConfigError, match=word.partition("=")[0]) as error:
        parse(None, "--data", "x", word)
    assert (hint in str(error.value)) if hint else ("did you mean" not in str(error.value))


def test_an_unknown_key_of_a_file_is_named_with_the_one_that_is_meant(parse):
    with pytest.raises(ConfigError, match=r"stagee \(did you mean stage\?\)"):
        parse("stagee: converge", "--data", "x")


def test_an_output_path_that_cannot_be_written_has_no_traceback(capsys, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        command.run(
            lambda config: (tmp_path / "file" / "folder").mkdir(parents=True),
            command.make_parser(Config, description="x"),
            ["--data", "x"],
        )
    assert ended.value.code == 2
    assert re.search("error: .*file/folder", capsys.readouterr().err)


def test_unexpected_errors_keep_their_traceback():
    def main(config):
        raise RuntimeError("a bug")

    def read(config):
        return Path("/nowhere/file").read_text()

    parser = command.make_parser(Config, description="x")
    with pytest.raises(RuntimeError):
        command.run(main, parser, ["--data", "x"])
    with pytest.raises(FileNotFoundError):
        command.run(read, parser, ["--data", "x"])


def test_help_shows_examples_and_the_file(capsys):
    with pytest.raises(SystemExit):
        command.parse(command.make_parser(Config, description="Does it.\n\n    python it.py --data x\n"), ["--help"])
    text = capsys.readouterr().out
    assert "\n    python it.py --data x\n" in text
    assert "--config FILE" in text
    assert "(default: explore)" in text


def test_help_marks_required_settings_and_shows_no_default_that_is_nothing():
    @dataclass
    class Settings:
        data: str = field(metadata={"help": "A folder."})
        note: str | None = field(default=None, metadata={"help": "A text."})

    shown = command.make_parser(Settings, description="").format_help()
    assert "A folder. (required)" in shown
    assert shown.count("(required)") == 1
    assert "None" not in shown


def test_the_negated_switch_has_its_own_help():
    @dataclass
    class Switch:
        fast: bool = field(default=True, metadata={"help": "A switch."})

    shown = " ".join(command.make_parser(Switch, description="").format_help().split())
    assert shown.count("--fast") == 3
    assert shown.count("A switch.") == 1


class TestNested:
    """``--NAME.KEY VALUE`` changes one key of a mapping."""

    def parse(self, *arguments):
        return command.parse(command.make_parser(Config, description="x"), ["--data", "d", *arguments])[0].more

    def test_values_are_parsed_as_json_if_possible(self):
        given = (
            "--more.rate",
            "1e-6",
            "--more.steps=60",
            "--more.fast",
            "True",
            "--more.note",
            "none",
            "--more.off",
            "null",
        )
        assert self.parse(*given) == {"rate": 1e-6, "steps": 60, "fast": True, "note": "none", "off": None}

    def test_other_keys_of_the_file_are_kept(self, tmp_path):
        file = tmp_path / "c.yaml"
        file.write_text("more: {steps: 3, inner: {a: 1, b: 2}}\n")
        assert self.parse("--more.inner.b", "5", "--config", str(file)) == {"steps": 3, "inner": {"a": 1, "b": 5}}

    @pytest.mark.parametrize("arguments", [("--rate.x", "1"), ("--nothing.x", "1"), ("--more.x",)])
    def test_a_setting_that_is_not_a_mapping_is_rejected(self, arguments):
        with pytest.raises(ConfigError, match=arguments[0].split(".")[0].strip("-")):
            self.parse(*arguments)


def test_a_closed_output_pipe_causes_no_traceback():
    code = "from acqo_rl.cli import main; main(['reproduce', '--list'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (1, b"")


def test_a_folder_does_not_hide_a_shipped_config_with_the_same_name(tmp_path, monkeypatch):
    (tmp_path / "embedded").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\(did you mean embedded\?\)"):
        command.find_config("embeded", "train")
    assert command.find_config("embedded", "train") == command.configs_folder() / "train" / "embedded.yaml"


@dataclass
class Inner:
    note: str = setting("A text.", "")
    limit: int = setting("A number.", 0)


@dataclass
class Nested:
    seed: int = setting("A number.", 0)
    inner: Inner = group("Settings of another class.", Inner)


def test_a_group_of_settings_is_a_mapping_with_the_same_checks(tmp_path):
    (tmp_path / "config.yaml").write_text("inner: {note: a, limit: 3}\n")
    parser = command.make_parser(Nested, description="")
    [read] = command.parse(parser, ["--config", str(tmp_path / "config.yaml"), "--inner.limit", "4"])
    assert (read.seed, read.inner.note, read.inner.limit) == (0, "a", 4)
    for wrong in (["--inner.limits", "4"], ["--inner.limit", "x"], ["--inner", "5"]):
        with pytest.raises(ConfigError, match="inner"):
            command.parse(command.make_parser(Nested, description=""), wrong)
