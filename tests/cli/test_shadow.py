"""acqo shadow: what a search would do to the queries of a log, with a real index and the networks of the package."""

import json
import re
from pathlib import Path

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.language_models import load as language_models
from acqo_rl.retrieval.build import build_bm25_index

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"
LOG = [json.loads(line) for line in (EXAMPLE / "log.jsonl").read_text().splitlines()]
SIMPLE = {"query": "What is the area of Cocos Islands?"}
FOLLOW_UP = {"query": "Which countries use it?", "history": ["U: What is the code of the Czech Koruna?", "S: CZK."]}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shadow") / "index"
    build_bm25_index(folder, list(read_corpus(EXAMPLE).values()))
    return folder


@pytest.fixture
def shadow(index, tmp_path, capsys):
    """Runs the command on a log; returns what it prints and the text of the report."""

    def run(*lines, **settings):
        log = tmp_path / "log.jsonl"
        log.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        given = {"log": log, "data": EXAMPLE, "index": index, "output": tmp_path / "out", **settings}
        main = module_of("shadow").main
        main(command.parse(main, [f"--{name}={value}" for name, value in given.items()]))
        return capsys.readouterr().out, (tmp_path / "out" / "report.html").read_text()

    return run


def numbers(name, printed):
    """The numbers in the first row of a name."""
    return [float(number) for number in re.findall(r"[\d.]+", re.search(rf"^\| {name} +\|(.*)$", printed, re.M)[1])]


def test_results_are_compared_with_those_in_the_log_or_else_with_those_of_the_raw_query(shadow):
    """Rules search the raw query here, which finds its document first, and three that nobody knows are gone."""
    assert numbers("rules", shadow(SIMPLE, reformulator="rules")[0])[:3] == [0, 0, 0]
    logged = {**SIMPLE, "results": ["country-CC-area", "a", "b", "c"], "user": 7}
    printed, page = shadow(logged, SIMPLE, reformulator="rules")
    assert numbers("rules", printed)[:3] == [0.375, 0, 0]
    assert "2 of the 2 queries" in printed
    assert page.count("<td>Area of Cocos Islands</td>") == 1  # all that is known of today's
    assert page.count("<td>Area of Cocos Islands · ") == 1
    printed, _ = shadow({**SIMPLE, "results": ["currency-CZK-codes"]}, SIMPLE, reformulator="rules")
    assert numbers("rules", printed)[:3] == [0.5, 0.5, 0]  # today's document has none of the words of the query


def test_the_search_that_is_tried_has_all_settings_of_acqo_search(shadow):
    """Also those that evaluations give otherwise: of a fusion, and a reranker that is not there."""
    numbers("raw", shadow(SIMPLE, reformulator="raw")[0])
    with pytest.raises(ConfigError, match="nobody"):
        shadow(SIMPLE, reformulator="rules", reranker="./nobody")


def test_queries_that_change_stand_side_by_side_and_relevant_documents_say_who_is_helped(shadow):
    lines = [{**FOLLOW_UP, "relevant": ["currency-CZK-countries"]}, {**SIMPLE, "relevant": ["country-CC-area"]}, SIMPLE]
    printed, page = shadow(*lines, reformulator="turns")
    assert re.search(r"\| 50\.0% \[0\.0%, 100\.0%\] \| 50\.0% \| +0\.0% \[0\.0%, 0\.0%\] \|", printed)  # of two queries
    rows = [re.findall(r">(.*?)</td>", row) for row in re.findall(r"<tr>.*?</tr>", page, re.S) if "S: CZK. /" in row]
    [cells] = [cells for cells in rows if len(cells) == 6]
    assert cells[1] == "U: What is the code of the Czech Koruna? / S: CZK. / Which countries use it?"
    assert "Czech Koruna" in cells[3]
    assert "Czech Koruna" not in cells[4]
    assert cells[5].startswith("Czech Koruna · Czech Koruna: countries ·")


def test_features_outside_the_range_of_the_training_are_reported(shadow):
    """A query of a hundred words is none of the questions of the training."""

    def choice_of(*lines):
        return float(re.search(r"choice (0\.\d{3}) \(in training 0\.00\d\)", shadow(*lines)[0])[1])

    strange = [{"query": " ".join(line["query"] for line in LOG[first::3])} for first in range(3)]
    assert choice_of(*strange) > 4 * choice_of(*LOG[:9])


WRONG = {
    "not json": "not JSON",
    '{"q": "x"}': "query is null; the line has the fields q",
    '{"query": 3}': "query is 3",
    '{"query": "  "}': "give each query a text",
    '{"query": "x", "relevant": "d1"}': "relevant is 'd1'; write a list",
    '{"query": "x", "results": {"a": 1}}': "results is {'a': 1}; write a list",
    '{"query": "x", "history": [3]}': "history: ",
}


def test_a_wrong_line_is_named_with_what_it_has(shadow):
    with pytest.raises(DataError) as error:
        shadow(SIMPLE, *WRONG)
    faults = str(error.value).splitlines()[1:]
    assert len(faults) == len(WRONG)
    for number, (fault, said) in enumerate(zip(sorted(faults), WRONG.values(), strict=True), start=2):
        assert f"log.jsonl, line {number}: " in fault
        assert said in fault
    with pytest.raises(DataError, match="the log is empty"):
        shadow("")
    with pytest.raises(DataError, match="'of another index'"):
        shadow({**SIMPLE, "results": ["of another index"]})


def test_a_model_is_asked_only_for_what_was_not_asked_before(shadow, monkeypatch):
    loaded = []

    def load(name, **settings):
        loaded.append(ScriptedLanguageModel('{"search": "islands and their area"}'))
        return loaded[-1]

    monkeypatch.setattr(language_models, "load_language_model", load)
    shadow(SIMPLE, FOLLOW_UP, reformulator="step_back=m")
    _, page = shadow(SIMPLE, FOLLOW_UP, {"query": "area of Lebanon"}, reformulator="step_back=m")
    assert [sum(map(len, model.calls)) for model in loaded] == [2, 1]
    assert "islands and their area" in page
