"""acqo search."""

import json
import signal
import subprocess

import pytest
from forked import run_command
from shared import ACQO, ENVIRONMENT, bm25_folder
from tiny_policy import full_model

from acqo_rl.retrieval.build import build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.splitting import split_passages
from acqo_rl.types import Document

SCRIPT = "search"
ESCAPES = "\x1b[31mred\x1b]0;title\x07\r\x9b2J"
DOCUMENTS = [
    *(Document(f"{name}-capital", name, f"{city} is the capital of {name}.") for name, city in
      (("Peru", "Lima"), ("Chad", "Ndjamena"), ("Japan", "Tokyo"))),
    Document("Peru-money", "Peru", "The currency of Peru is the sol."),
    Document("strange", f"{ESCAPES} 名前\u202e", f"{ESCAPES} strange\nthings " + "and more " * 500),
]  # fmt: skip


def run(folder, *arguments, status=0, text=""):
    places = ("--data", folder, "--index", folder / "index")
    done = run_command(SCRIPT, *places, *arguments, status=status, text=text, env=ENVIRONMENT)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BEIR folder that contains a BM25 index."""
    folder = tmp_path_factory.mktemp("search")
    bm25_folder(folder, DOCUMENTS)
    return folder


@pytest.fixture(scope="module")
def policy(folder):
    """A policy with random weights that reads feedback."""
    return full_model(folder, feedback_results=2, max_new_tokens=4)


FILLER = """The house of the puppet theatre keeps two hundred mice made of felt. Children get a ticket for the house and
may hold the mice in their hands. In the house rules the mice are called small actors. We do not rid the mice of their
old coats, because the house likes its history. How do the mice get on stage? They slide down from the roof of the
house. You get the best view of the mice from the left side of the house. In winter the house shows the mice only on
Sundays."""
ANSWER = """Rodents leave when they find neither food nor a way in. Seal every gap wider than a pencil with steel wool.
Store grain and pet feed in tins. Set snap traps along the walls, baited with peanut butter, and check them every
morning. Poison is a last resort, because dead vermin behind a skirting board smell for weeks. A cat helps as well."""


def test_the_passage_whose_vector_matched_is_shown_though_others_share_more_words(tmp_path):
    document = Document("felt", "", "\n\n".join([FILLER] * 5 + [ANSWER] + [FILLER] * 2))
    bm25_folder(tmp_path, [document])
    encoder = SentenceTransformerEncoder("embedded:minilm")
    build_dense_index(tmp_path / "dense", [document], encoder, passages=split_passages([document], encoder, [0]))
    arguments = ("--reformulator", "raw", "--json", "--query", "How do I get rid of mice in the house?", "--index")
    by_words, by_vector = (
        json.loads(run(tmp_path, *arguments, tmp_path / name).stdout)["documents"][0] for name in ("index", "dense")
    )
    assert ANSWER in by_vector["text"] and ANSWER not in by_words["text"]
    assert document.text.index(by_vector["text"]) == by_vector["start"]


@pytest.mark.parametrize("answer", ["The UV B7 is at 30 V.", "水泵的额定压力是七巴。", "ปั๊มน้ำต้องเปลี่ยนซีลยางทุกสองปี"])
def test_the_table_shows_the_sentence_that_matches_in_any_script(tmp_path, answer):
    """In a terminal of 80 columns, though the sentence is in the middle of a long text."""
    spaces = " " * answer.isascii()
    around = spaces.join(
        f"{'Chapter' if spaces else '第'} {number}{'.' if spaces else '章。'}" for number in range(300)
    )
    bm25_folder(tmp_path, [Document("d", "Manual", f"{around}{spaces}{answer}{spaces}{around}")])
    places = ("--data", tmp_path, "--index", tmp_path / "index", "--reformulator", "raw", "--query", answer)
    done = run_command(SCRIPT, *places, env=ENVIRONMENT | {"COLUMNS": "80"})
    assert answer in done.stdout.partition("fused")[2]


def test_json_contains_the_full_result(folder):
    arguments = ("--reformulator", "raw", "--json", "--k", "2", "--fusion", "rrf", "--query", "capital of Peru")
    answer = json.loads(run(folder, *arguments).stdout)
    made = answer["reformulation"]
    fused = answer["fused"]
    assert (made["route"], made["problem"], made["sub_queries"][0]["kind"]) == ("pass", None, "original")
    assert [document["id"] for document in answer["documents"]] == fused["doc_ids"]
    assert fused["doc_ids"] == answer["rankings"][0]["doc_ids"][:2]
    assert answer["documents"][0]["text"] == "Lima is the capital of Peru."
    assert fused["scores"][0] == pytest.approx(1 / 61)
    assert fused["similarities"][0] == answer["rankings"][0]["scores"][0]
    assert [step["name"] for step in answer["trace"]] == ["reformulation", "retrieval", "fusion"]


def test_no_documents_below_the_threshold(folder, tmp_path):
    """Rejected for a BM25 index, because its scores are not cosines."""
    build_dense_index(tmp_path, DOCUMENTS, SentenceTransformerEncoder("embedded:minilm"))
    given = ("--reformulator", "raw", "--json", "--score_threshold", 0.3, "--query")
    on, off = (
        json.loads(run(folder, "--index", tmp_path, *given, query).stdout)
        for query in ("capital of Peru", "how to bake a chocolate cake")
    )
    assert on["documents"][0]["id"] == "Peru-capital"
    assert min(on["fused"]["similarities"]) >= 0.3
    assert off["documents"] == off["fused"]["doc_ids"] == []
    assert "cosines" in run(folder, *given, "capital of Peru", status=2).stderr
    long = "Yesterday it rained in the hills. " * 60 + "What is the capital of Peru?"
    [note] = json.loads(run(folder, "--index", tmp_path, *given, long).stdout)["notes"]
    assert note in run(folder, "--index", tmp_path, "--reformulator", "raw", "--query", long).stdout


@pytest.mark.slow
def test_a_conversation_with_a_policy(folder, policy):
    typed = "capital of Peru\n\n  \n:qiut\nand its currency\n:new\ncapital of Chad\n:quit\nnever read\n"
    done = run(folder, "--reformulator", "policy", "--model", policy, "--json", text=typed)
    assert all(word in done.stderr for word in (":qiut", ":new", ":quit"))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    made = [answer["reformulation"] for answer in answers]
    queries = [one["query"] for one in made]
    assert [query["text"] for query in queries] == ["capital of Peru", "and its currency", "capital of Chad"]
    said = [[turn["text"] for turn in query["history"]] for query in queries]
    assert said == [[], ["capital of Peru"], []]
    # random weights do not follow the grammar, so the raw query is searched
    assert all(one["made_by"] == "policy" and one["completion"] and one["problem"] for one in made)
    assert [answer["documents"][0]["id"] for answer in answers] == ["Peru-capital", "Peru-money", "Chad-capital"]
    assert all(answer["trace"][0]["name"] == "feedback" for answer in answers)


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [True, False])
def test_searches_are_chosen_after_reading_results_by_default(folder, policy, with_model):
    model = ("--model", policy) if with_model else ()
    answer = json.loads(run(folder, *model, "--json", "--query", "capital of Peru").stdout)
    assert answer["documents"][0]["id"] == "Peru-capital"
    assert "Chosen after reading results" in answer["reformulation"]["reasoning"]
    assert "first searches" in {step["name"] for step in answer["trace"]}


def test_an_interrupt_at_the_prompt_ends_the_conversation(folder):
    arguments = ("--data", folder, "--index", folder / "index", "--reformulator", "raw")
    with subprocess.Popen(
        [ACQO[0], "-u", *ACQO[1:], SCRIPT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as talk:
        assert talk.stdout.readline().startswith("Type a query.")
        assert talk.stdout.read(len("\nquery> ")) == "\nquery> "
        talk.send_signal(signal.SIGINT)
        _, errors = talk.communicate(timeout=60)
    assert talk.returncode == 0, errors
    assert "Traceback" not in errors


def test_control_characters_do_not_reach_the_terminal(folder):
    done = run(folder, "--reformulator", "raw", "--query", f"strange{ESCAPES} things\udcff")
    assert "strange" in done.stdout
    assert "名前" in done.stdout
    assert "strange…" in done.stdout
    assert not [c for c in done.stdout if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--reformulator", "raw", "--query", " \x1b\n"), "The query is empty"),
        (("--reformulator", "policy"), "--model MODEL"),
        (("--model", "trained:five", "--index", "nowhere"), "trained:five"),
        (("--order", "trained:hop", "--index", "nowhere"), "other features"),
        (("--reformulator", "raw", "--index", "nowhere"), "nowhere"),
        (("--reformulator", "rewrite_retrieve_read", "--model", "openai:m@http://127.0.0.1:9/v1"), "cosines"),
    ],
)
def test_errors_name_the_setting(folder, arguments, message):
    assert message in run(folder, "--query", "Peru", *arguments, status=2).stderr
