"""A recorded model: no conversation is asked twice, and a failed call is asked again."""

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.language_models.recorded import RecordedModel
from acqo_rl.types import Completion

ONE, TWO = [{"role": "user", "content": "one"}], [{"role": "user", "content": "two"}]


def test_completions_come_from_the_file_wherever_the_server_is(tmp_path):
    model = ScriptedLanguageModel("first", Completion("second, cut", 9, finished=False))
    before = RecordedModel("openai:m@http://one", lambda: model, tmp_path / "r.jsonl").generate([ONE, TWO, ONE])
    assert [completion.text for completion in before] == ["first", "second, cut", "first"]
    assert sum(map(len, model.calls)) == 2

    moved = RecordedModel("openai:m@http://two", lambda: 1 / 0, tmp_path / "r.jsonl")
    assert moved.generate([ONE, TWO, ONE]) == before
    assert moved.missing([ONE, TWO]) == []


def test_another_model_is_asked_itself(tmp_path):
    file = tmp_path / "r.jsonl"
    RecordedModel("openai:m", lambda: ScriptedLanguageModel("mine"), file).generate([ONE])
    other = RecordedModel("openai:n", lambda: ScriptedLanguageModel("yours"), file)
    assert other.missing([ONE]) == [ONE]
    assert other.generate([ONE])[0].text == "yours"


def test_a_failed_call_is_reported_and_asked_again(tmp_path):
    failed = Completion("", 0, problem="time-out")
    file = tmp_path / "r.jsonl"
    first = RecordedModel("m", lambda: ScriptedLanguageModel(failed), file)
    assert first.generate([ONE]) == [failed]
    again = RecordedModel("m", lambda: ScriptedLanguageModel("now"), file)
    assert again.generate([ONE])[0].text == "now"


def test_a_server_that_is_down_is_not_asked_for_everything(tmp_path):
    failed = Completion("", 0, problem="no server")
    model = ScriptedLanguageModel(failed)
    asked = [[{"role": "user", "content": str(number)}] for number in range(50)]
    assert RecordedModel("m", lambda: model, tmp_path / "r.jsonl").generate(asked) == [failed] * 50
    assert sum(map(len, model.calls)) == 32


def test_a_line_that_was_written_in_part_is_asked_again(tmp_path):
    file = tmp_path / "r.jsonl"
    RecordedModel("m", lambda: ScriptedLanguageModel("first", "second"), file).generate([ONE, TWO])
    file.write_bytes(file.read_bytes()[:-9])
    again = RecordedModel("m", lambda: ScriptedLanguageModel("third"), file)
    assert again.missing([ONE, TWO]) == [TWO]
    assert [completion.text for completion in again.generate([ONE, TWO])] == ["first", "third"]
    assert RecordedModel("m", pytest.fail, file).missing([ONE, TWO]) == []
