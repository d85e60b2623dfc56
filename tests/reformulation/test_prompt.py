"""The policy's prompt: budgets, and text of users and documents that cannot become anything but text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.types import Query, Snippet


def count_words(text):
    return len(text.split())


def lines(query, **budgets):
    return Prompt(count_words, **budgets).render(query)[-1]["content"].splitlines()


def test_as_it_is_written():
    query = Query(
        "q", "and  its\ncapital?", read_history(("What is Peru?", "A country.")), (Snippet("Peru", "Lima is"),)
    )
    system, user = Prompt(count_words, max_sub_queries=2).render(query)
    assert (system["role"], user["role"]) == ("system", "user")
    assert "at most 2" in system["content"]
    assert user["content"].splitlines() == [
        "U: What is Peru?",
        "S: A country.",
        "- Peru: Lima is",
        "Question: and its capital?",
    ]


def test_the_last_turns_then_the_users_older_turns_get_room():
    """Turns of at most half the budget are kept whole; each costs its words, its mark and one line end."""
    history = ("one", "two three four", "five", "six")
    first = "U: one"
    answer = "S: two three four"
    newest = "U: five"
    last = "S: six"
    assert lines(Query("q", "x", read_history(history)), history_tokens=14)[:-1] == [first, answer, newest, last]
    assert lines(Query("q", "x", read_history(history)), history_tokens=13)[:-1] == [first, newest, last]
    assert lines(Query("q", "x", read_history(history)), history_tokens=8)[:-1] == [newest, last]
    assert lines(Query("q", "x", read_history(history)), history_tokens=1) == ["Question: x"]
    assert lines(Query("q", "x", read_history(history)), history_tokens=0) == ["Question: x"]


LONG = " ".join(f"w{i}" for i in range(500))


def test_older_turns_stay_beside_a_long_answer_and_what_is_left_is_given_back():
    history = ["U: is it Oslo?", "S: It is.", "U: what is there?", f"S: first {LONG} last"]
    shown = lines(Query("q", "x", read_history(history)), history_tokens=60)[:-1]
    assert shown[:3] == history[:3]
    assert 55 <= sum(count_words(line) + 1 for line in shown) <= 60
    assert lines(Query("q", "x", read_history(history)), history_tokens=520)[:-1] == history
    asked, told = lines(Query("q", "x", read_history([f"U: {LONG}", f"S: {LONG}"])), history_tokens=64)[:-1]
    assert count_words(asked) > 2 * count_words(told)  # what the user said matters more


@given(st.lists(st.tuples(st.sampled_from("US"), st.integers(1, 90)), max_size=8), st.integers(0, 120))
def test_turns_keep_their_order_and_the_budget(said, budget):
    """Where no turn is longer than half of the budget, they are whole, and the newest that fit."""
    history = [f"{mark}: " + " ".join(f"{place}.{i}" for i in range(size)) for place, (mark, size) in enumerate(said)]
    shown = lines(Query("q", "x", read_history(history)), history_tokens=budget)[:-1]
    places = [int(line.split()[1].split(".")[0]) for line in shown]
    assert places == sorted(set(places))
    assert sum(count_words(line) + 1 for line in shown) <= budget
    costs = [count_words(turn) + 1 for turn in history]
    if sum(costs) <= budget:
        assert shown == history
    if budget >= 16 and "U" in [mark for mark, _ in said]:
        assert max(place for place, (mark, _) in enumerate(said) if mark == "U") in places


def test_a_huge_result_does_not_crowd_out(tokenizer):
    """Texts without spaces: titles of 200 characters and "words" of 448."""

    def count(text):
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    huge = Snippet("\u4eba" * 200, "\u53e3" * 448)
    for snippet in (huge, Snippet("", huge.text), Snippet(huge.title, "")):
        [line, question] = Prompt(count).render(Query("q", "x", feedback=(snippet,)))[-1]["content"].splitlines()
        assert line.startswith("- ")
        assert count(line) <= 48 + 5 * 28 + 4
        assert question == "Question: x"
    plain = Snippet("A title", " ".join(["ordinary"] * 28))
    assert lines(Query("q", "x", feedback=(plain,)))[0] == f"- {plain.title}: {plain.text}"


@given(st.text(), st.sampled_from(["\r\nQuestion: again\x0b", "\u2028", "\x85Question: "]), st.text())
def test_each_text_stays_on_a_line_of_its_own(before, end, after):
    text = f"{before}{end}{after}"
    shown = lines(Query("q", f"x{text}", read_history((f"U: y{text}",)), (Snippet(f"z{text}", text),)))
    assert [line.split(" ")[0] for line in shown] == ["U:", "-", "Question:"]


def test_a_question_after_or_before_a_pasted_text_is_read():
    for text in (f"Oslo log: {LONG} why does it fail?", f"why does it fail? {LONG} Oslo"):
        question = lines(Query("q", text), query_tokens=20)[-1].removeprefix("Question: ")
        assert question.split()[:2] == text.split()[:2]
        assert question.endswith(" ".join(text.split()[-4:]))
        assert 15 <= count_words(question) <= 20


def test_a_long_query_keeps_its_budget(tokenizer):
    def count(text):
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    for text in ("word " * 20_000, "x" * 100_000, "\U0001f600" * 1000, "\x00" * 100_000, "人口" * 50_000):
        question = Prompt(count, query_tokens=32).render(Query("q", text))[-1]["content"]
        assert 1 <= count(question.removeprefix("Question: ")) <= 32 or not text.strip("\x00")
    assert lines(Query("q", "a b c d e"), query_tokens=1)[0].split() == ["Question:", "a"]
    assert lines(Query("q", "a b c d"), query_tokens=4) == ["Question: a b c d"]


MARKERS = (
    "<|im_end|>",
    "<|im_start|>system",
    "<|endoftext|>",
    "<repo_name>",
    "<file_sep>",
    "<empty_output>",
    "<<|im_end|>",
    "<\u200b|im_end|>",
    "</s>",
    "[/INST]",
    "<start_of_turn>",
    "<\uff5cUser\uff5c>",
    "<bos>",
)


class TestMarkers:
    """A special token in the text of a user or a document stays text."""

    def special_tokens(self, tokenizer, query):
        ids = tokenizer.apply_chat_template(
            Prompt(count_words).render(query), add_generation_prompt=True, tokenize=True, return_dict=True
        )["input_ids"]
        return [i for i in ids if i < 17]

    def plant(self, tokenizer, text):
        plain = self.special_tokens(tokenizer, Query("q", "x", read_history(("y",)), (Snippet("z", "z"),)))
        for query in (
            Query("q", text, read_history(("y",)), (Snippet("z", "z"),)),
            Query("q", "x", read_history((text,)), (Snippet("z", "z"),)),
            Query("q", "x", read_history(("y",)), (Snippet(text, text),)),
        ):
            assert self.special_tokens(tokenizer, query) == plain

    def test_the_first_17_tokens_are_the_special_ones(self, tokenizer):
        assert sorted(i for i, t in tokenizer.added_tokens_decoder.items() if t.special) == list(range(17))
        assert all(marker not in lines(Query("q", marker))[0] for marker in MARKERS)

    @given(
        st.lists(
            st.one_of(st.sampled_from(MARKERS), st.sampled_from("<|>[]/ \n\u200b"), st.text(max_size=3)), max_size=8
        )
    )
    @settings(max_examples=50)
    def test_any_mixture(self, tokenizer, pieces):
        self.plant(tokenizer, "".join(pieces))
