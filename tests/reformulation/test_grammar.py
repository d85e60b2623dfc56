"""The grammar: renderer, strict parser, expression for guided decoding, tolerant parser."""

import re
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.errors import GrammarError
from acqo_rl.reformulation.grammar import MAX_CHARACTERS, TAGS, Grammar
from acqo_rl.text import each_word_once, normalised, one_line
from acqo_rl.types import Query, SubQuery

QUERY = Query("q", "What is the capital of Peru?")
ORIGINAL = SubQuery(QUERY.text, "original")
GRAMMAR = Grammar()
KINDS = {"disambiguate": "reading", "decompose": "part"}


def expansion(words):
    return SubQuery(f"{QUERY.text} {words}", "expansion")


def searches(text):
    return each_word_once(one_line(text)[:MAX_CHARACTERS].strip())


def can_be_searched(text):
    return normalised(text) and normalised(text) != normalised(QUERY.text) and not is_tag(text)


def is_tag(line):
    return not line.startswith("= ") and line.strip(f"{string.punctuation} \u2026\u00ab\u00bb").lower() in TAGS.values()


TEXTS = st.text(max_size=40).map(searches).filter(can_be_searched)


@st.composite
def reformulations(draw):
    """What the strict parser can say: a route with distinct sub-queries, the query itself and expansions among them."""
    route = draw(st.sampled_from(["disambiguate", "decompose"]))
    texts = draw(st.lists(TEXTS.filter(lambda t: f"{t} "[:2] != "= "), unique_by=normalised, min_size=1, max_size=3))
    subs = [SubQuery(text, KINDS[route]) for text in texts]
    if draw(st.booleans()):
        subs[-1] = expansion(texts[-1])
    if len(subs) < 3 and draw(st.booleans()):
        subs.insert(draw(st.integers(0, len(subs))), ORIGINAL)
    return route, tuple(subs)


@given(reformulations())
def test_parse_inverts_render(reformulation):
    route, subs = reformulation
    written = GRAMMAR.render(route, subs, QUERY)
    assert GRAMMAR.parse(written, QUERY) == GRAMMAR.parse_tolerantly(written, QUERY) == (route, subs, None)


def test_as_it_is_written():
    subs = (SubQuery("capital of Peru", "part"), ORIGINAL)
    assert GRAMMAR.render("decompose", subs, QUERY) == "split\ncapital of Peru\n="
    assert GRAMMAR.render("disambiguate", [expansion("Lima")], QUERY) == "resolve\n= Lima"
    assert GRAMMAR.render("pass", (ORIGINAL,), QUERY) == "pass"
    query = Query("q", "  what\tis  this\x00 ?")
    assert GRAMMAR.parse("pass", query) == ("pass", (SubQuery(query.text, "original"),), None)


@pytest.mark.parametrize("text", ["=", " =\n", "= Lima", "", " \t", "x" * (MAX_CHARACTERS + 1), "\u200b"])
def test_what_cannot_be_written_is_refused(text):
    """A text that is "=" would be read back as the query itself."""
    with pytest.raises(GrammarError):
        GRAMMAR.render("decompose", [SubQuery(text, "part"), SubQuery("other", "part")], QUERY)


@pytest.mark.parametrize("text", ["Lima", f"Lima {QUERY.text} Peru", QUERY.text, f"{QUERY.text} "])
def test_an_expansion_is_the_query_and_words_behind_it(text):
    with pytest.raises(GrammarError, match="expansion"):
        GRAMMAR.render("disambiguate", [SubQuery(text, "expansion")], QUERY)


@pytest.mark.parametrize("most", [1, 3, 5])
def test_no_more_than_the_limit(most):
    subs = [SubQuery(f"need {i}", "part") for i in range(most + 1)]
    written = Grammar(most).render("decompose", subs[:most], QUERY)
    assert Grammar(most).parse(written, QUERY).sub_queries == tuple(subs[:most])
    for few in ([], subs):
        with pytest.raises(GrammarError, match=f"1 to {most}"):
            Grammar(most).render("decompose", few, QUERY)


@pytest.mark.parametrize("line", ["=", QUERY.text, "what is the capital of peru", "= ?"])
def test_a_single_sub_query_that_is_the_query_is_the_pass_route(line):
    assert GRAMMAR.parse(f"resolve\n{line}", QUERY) == ("pass", (ORIGINAL,), None)


PIECES = st.one_of(
    st.sampled_from([*TAGS.values(), "Pass", "SPLIT", "pas", "'", ": ", "\u2026"]),
    st.sampled_from(["\n", "=", " ", "x" * 199, "\u00a0", "\r", "\u2028", "\u3000", "."]),
    st.text(max_size=6),
)


class TestExpression:
    """Guided decoding can write exactly what the strict parser reads."""

    @staticmethod
    def agree(completion):
        try:
            GRAMMAR.parse(completion, QUERY)
            parsed = True
        except GrammarError:
            parsed = False
        assert parsed == bool(re.fullmatch(GRAMMAR.regex, completion)) == by_the_rules(completion)

    @given(st.lists(PIECES, max_size=8).map("".join))
    @settings(max_examples=300)
    def test_on_any_text(self, completion):
        self.agree(completion)

    @given(reformulations(), st.data())
    @settings(max_examples=200)
    def test_on_damaged_completions(self, reformulation, data):
        written = GRAMMAR.render(*reformulation, QUERY)
        place = data.draw(st.integers(0, len(written)))
        self.agree(written[:place] + data.draw(PIECES) + written[place:])
        self.agree(written[:place] + written[place + 1 :])

    @given(st.from_regex(Grammar(2).regex, fullmatch=True))
    @settings(max_examples=50)
    def test_on_what_it_generates(self, completion):
        self.agree(completion)
        assert 1 <= len(Grammar(2).parse(completion, QUERY).sub_queries) <= 2


def by_the_rules(completion):
    """The grammar again, in words and without an expression."""
    tag, *lines = completion.split("\n")
    if tag == "pass":
        return not lines
    return tag in ("resolve", "split") and 1 <= len(lines) <= 3 and all(map(is_search, lines))


def is_search(line):
    plain = all(c == " " or not (c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 or hidden(c)) for c in line)
    return 1 <= len(line) <= MAX_CHARACTERS and line == line.strip(" ") and plain and not is_tag(line)


def hidden(c):
    return "\u200b" <= c <= "\u200f" or "\u202a" <= c <= "\u202e" or "\u2060" <= c <= "\u206f" or c == "\ufeff"


SIGNS = st.text(" !.:;,'\"*_#()[]{}<>`|~/-\u2026\u00ab\u00bb\uff1a", max_size=12)
CASES = st.sampled_from([str.lower, str.upper, str.capitalize, str.swapcase])


@given(SIGNS, st.sampled_from([*TAGS.values()]), CASES, SIGNS, st.sampled_from([[], ["Lima weather"]]))
@settings(max_examples=300)
def test_a_tag_is_no_sub_query(before, tag, case, after, others):
    """A model that writes one has lost the form; neither the parser nor guided decoding lets it search the tag."""
    line = f"{before}{case(tag)}{after}".strip()
    written = "\n".join(["resolve", *others, line])
    assert not re.fullmatch(GRAMMAR.regex, written)
    assert not line.isascii() or not re.fullmatch(GRAMMAR.ascii_regex, written)
    parsed = GRAMMAR.parse_tolerantly(written, QUERY)
    assert [s.text for s in parsed.sub_queries] == (others or [QUERY.text])
    assert "tag" in parsed.problem
    assert GRAMMAR.parse_tolerantly(f"split\n{tag} {case(tag)}", QUERY).sub_queries == (ORIGINAL,)


@given(st.text(string.ascii_letters + " .-=", min_size=1, max_size=MAX_CHARACTERS).map(one_line).filter(bool))
@settings(max_examples=300)
def test_what_has_no_limits_of_length_matches_the_same_lines(line):
    """An engine compiled the expression with limits in 20 seconds, at each start."""
    assert re.findall(r"\{\d+,\d+\}", GRAMMAR.ascii_regex) == [f"{{1,{GRAMMAR.max_sub_queries}}}"]
    written = f"split\n{line}"
    assert bool(re.fullmatch(GRAMMAR.ascii_regex, written)) == bool(re.fullmatch(GRAMMAR.regex, written))


@pytest.mark.parametrize(
    "line", ["\u2192 pass", "\U0001f600pass", "1. pass", "pass split", "split|pass", "\uff50ass", "." * 40 + "pass"]
)
def test_neither_are_several_tags_or_tags_among_other_signs(line):
    parsed = GRAMMAR.parse_tolerantly(f"resolve\n{line}", QUERY)
    assert parsed.sub_queries == (ORIGINAL,)
    assert parsed.problem


class TestWords:
    """With a list of words, nothing else is searched than these and the words that the policy read."""

    GRAMMAR = Grammar(words=frozenset({"who", "issued", "account"}))
    READ = Query("q", "Is DE89370400440532013000 or Malta's (0x80070002) valid, or +49 (30) 12 34 12?")

    @pytest.mark.parametrize(
        ("line", "searched"),
        [
            ("who issued DE89370400440532013000", "who issued DE89370400440532013000"),
            ("Malta account", "Malta account"),
            ("= account", f"{READ.text} account"),
            ("account +49 (30) 12 34 12", "account +49 (30) 12 34 12"),
            ("account DE8937040004400000000", "account"),
            ("account +49 (30) 12", "account"),
            ("Maldy 0x8000700000", None),
        ],
    )
    def test_identifiers_and_names_are_whole_or_left_out(self, line, searched):
        parsed = self.GRAMMAR.parse_tolerantly(f"split\n{line}", self.READ)
        assert [s.text for s in parsed.sub_queries] == [searched or self.READ.text]
        assert (parsed.problem is None) == (line.removeprefix("= ") in (searched or ""))
        if parsed.problem:
            with pytest.raises(GrammarError):
                self.GRAMMAR.parse(f"split\n{line}", self.READ)


class TestTolerant:
    """What cannot be used becomes the raw query, and the problem says why."""

    @pytest.mark.parametrize(
        ("completion", "route", "texts"),
        [
            ("Split\ncapital of Peru\ncapital of Chad", "decompose", ["capital of Peru", "capital of Chad"]),
            ("split:\n1. Peru\n2) Chad\n- Cuba", "decompose", ["Peru", "Chad", "Cuba"]),
            ("**resolve**\n\n  Lima   Peru \n", "disambiguate", ["Lima Peru"]),
            ("split\n" + "x" * (MAX_CHARACTERS + 1) + "\nChad", "decompose", ["Chad"]),
            ("split\n2008 crisis in Peru\n1.5 degrees\n", "decompose", ["2008 crisis in Peru", "1.5 degrees"]),
            ("split\na\x00b\r\nc\u2028d", "decompose", ["a b", "c", "d"]),
            ("split\n1. =\n2. Chad\n", "decompose", [QUERY.text, "Chad"]),
            ("PASS.", "pass", [QUERY.text]),
            ("split\n= \n", "pass", [QUERY.text]),
            ("resolve:\n=  Lima", "disambiguate", [f"{QUERY.text} Lima"]),
            ("I think that the capital is Lima.", "pass", [QUERY.text]),
        ],
    )
    def test_reads_what_it_can(self, completion, route, texts):
        parsed = GRAMMAR.parse_tolerantly(completion, QUERY)
        assert parsed.route == route
        assert [s.text for s in parsed.sub_queries] == texts
        assert "grammar" in parsed.problem

    @given(st.lists(PIECES, max_size=10).map("".join))
    @settings(max_examples=300)
    def test_always_answers_with_something_to_search(self, completion):
        parsed = GRAMMAR.parse_tolerantly(completion, QUERY)
        assert 1 <= len(parsed.sub_queries) <= 3
        written = [s.text.removeprefix(QUERY.text) for s in parsed.sub_queries if s.kind != "original"]
        assert all(0 < len(text) <= MAX_CHARACTERS and text.splitlines() == [text] for text in written)
        assert (parsed.route == "pass") == (parsed.sub_queries == (ORIGINAL,))

    @pytest.mark.parametrize("unit", ["x", "split\n", "\n", "1. ", "= ", "split\nab cd ", "#"])
    def test_a_long_completion_takes_no_longer_than_its_length(self, unit):
        begin = time.process_time()
        parsed = GRAMMAR.parse_tolerantly(unit * (100_000 // len(unit)), QUERY)
        assert time.process_time() - begin < 2
        assert parsed.problem
        assert len(parsed.problem) < 400
