"""Every strategy with a scripted model: what it asks, and what it makes of every kind of reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import Decomposition, Expansion, HyDE, MultiQuery, StepBack
from acqo_rl.types import Completion, Query, Snippet, SubQuery

QUERY = Query("q", "Why is the sky blue?")
ORIGINAL = SubQuery(QUERY.text, "original", 1.0)
ALL = (MultiQuery(), HyDE(), StepBack(), Decomposition(), Expansion(), Expansion(form="sub_queries"))
EVERY = pytest.mark.parametrize("strategy", ALL, ids=lambda s: f"{s.name}{getattr(s, 'form', '')}")


def reformulate(strategy, reply, query=QUERY):
    return Prompted(ScriptedLanguageModel(reply), [strategy]).reformulate([query])[0]


def system(strategy):
    return strategy.conversation(QUERY)[0]["content"]


class TestMultiQuery:
    def test_variants_beside_the_query_and_worth_less(self):
        reply = "Here are three queries:\n1. cause of sky colour\n2. Rayleigh scattering\n3. light in air\n4. more"
        answer = reformulate(MultiQuery(), reply)
        assert answer.sub_queries == (
            ORIGINAL,
            SubQuery("cause of sky colour", "variant", 0.8),
            SubQuery("Rayleigh scattering", "variant", 0.8),
            SubQuery("light in air", "variant", 0.8),
        )
        assert (answer.route, answer.problem, answer.calls, answer.made_by) == ("expand", None, 1, "multi_query")

    def test_the_query_itself_is_no_variant(self):
        assert [s.text for s in reformulate(MultiQuery(), "WHY is the sky  blue\nsky").sub_queries] == [
            QUERY.text,
            "sky",
        ]

    def test_what_is_asked_follows_the_settings(self):
        assert "Write 5 searches" in system(MultiQuery(variants=5))
        assert "for a plant's safety manuals. Write" in system(MultiQuery(domain="a plant's safety manuals"))
        assert "Write the last one in Chinese." in system(MultiQuery(translate_to="Chinese"))
        assert "Chinese" not in system(MultiQuery())

    def test_the_query_can_be_left_out(self):
        assert [s.kind for s in reformulate(MultiQuery(original_weight=0), "a\nb").sub_queries] == ["variant"] * 2


class TestHyDE:
    def test_the_answer_counts_three_times_the_query(self):
        answer = reformulate(HyDE(), "Air scatters\nblue light  most.")
        assert answer.sub_queries == (
            SubQuery(QUERY.text, "original", 0.5),
            SubQuery("Air scatters blue light most.", "hypothetical", 1.5),
        )

    @pytest.mark.parametrize(
        "reply",
        [
            "Here is a passage:\n\nAir scatters blue light.",
            "As an AI language model, I have no eyes. Air scatters blue light.",
            "I'm not sure about this. Air scatters blue light. I cannot provide more.",
            "<think>Rayleigh?</think>Air scatters blue light.",
            "Answer: Air scatters blue light. Hope this helps!",
            "对不起\uff0c我无法回答。Air scatters blue light.",
        ],
    )
    def test_no_announcement_and_no_disclaimer(self, reply):
        assert reformulate(HyDE(), reply).sub_queries[1].text == "Air scatters blue light."

    def test_a_passage_about_language_models_stays(self):
        passage = "A language model predicts the next word. As an AI technique it needs much text."
        assert reformulate(HyDE(), passage).sub_queries[1].text == passage

    def test_a_text_that_was_cut_is_searched_all_the_same(self):
        assert reformulate(HyDE(), Completion("Air scatters bl", 3, finished=False)).sub_queries[1].text == (
            "Air scatters bl"
        )

    def test_nothing_but_a_disclaimer_is_nothing(self):
        assert reformulate(HyDE(), "As an AI, I do not know.").route == "pass"

    def test_chinese_sentences(self):
        assert (
            reformulate(HyDE(), "天空是蓝色的。空气散射蓝光。").sub_queries[1].text == "天空是蓝色的。 空气散射蓝光。"
        )

    @pytest.mark.parametrize(
        "wish", ["Ich hoffe, das hilft!", "J'espère que cela aide.", "Espero que te sirva.", "Daj znać."]
    )
    def test_a_last_remark_is_not_searched(self, wish):
        assert reformulate(HyDE(), f"Air scatters blue light. {wish}").sub_queries[1].text == "Air scatters blue light."

    @pytest.mark.parametrize(
        "preface",
        ["Sure! Here is a passage:\n", "**Answer:** ", "Certainly! ", "Of course! Here's a passage: ", "Natürlich! ",
         "Voici un passage :\n", "Respuesta: ", "Ответ: ", "Answer:\n"],
    )  # fmt: skip
    def test_a_preface_is_not_searched(self, preface):
        text = "Air scatters blue light. It does so most at noon: the path is short."
        assert reformulate(HyDE(), preface + text).sub_queries[1].text == text

    @pytest.mark.parametrize(
        "dressed",
        [
            "## Answer\n{}", "# The colour of the sky\n\n{}", "```\n{}\n```", "```text\n{}\n```", "---\n{}\n---",
            "<passage>{}</passage>", "<answer>\n{}\n</answer>", '"{}"', "\u201c{}\u201d", "\u00ab{}\u00bb", "**{}**",
            "**Passage**\n\n{}", "**Passage:** {}", "[Passage] {}", "Question: Why is the sky blue?\nAnswer: {}",
            "Why is the sky blue?\n\n{}", "A: {}", "Title: Sky\nText: {}", "Frage: Warum?\nAntwort: {}",
            "## R\u00e9ponse\n{}", "Pregunta: \u00bfpor qu\u00e9?\nRespuesta: {}", "{} Let me know if you need more.",
            "Of course! Here's the passage.\n\n{}", "Sure, I can help with that. {}",
            "Sure, I'd be happy to help! {}", "Gerne! Ich helfe dir. {}", "Claro, puedo ayudarte. {}",
            'Sure! Here is a passage:\n\n"{}"', "```\n## Sky\n{}\n```\nI hope this helps!",
        ],
    )  # fmt: skip
    def test_what_stands_around_the_passage_is_left_out(self, dressed):
        passage = "Air scatters blue light. It scatters red light less."
        assert reformulate(HyDE(), dressed.format(passage)).sub_queries[1].text == passage

    @pytest.mark.parametrize(
        "passage",
        [
            "I Have a Dream is a speech. King gave it in 1963.",
            "Lima: the capital of Peru. It lies on the coast.",
            "The letter said: I can wait. It was sent in 1900.",
        ],
    )
    def test_a_passage_that_only_looks_dressed_stays(self, passage):
        assert reformulate(HyDE(), passage).sub_queries[1].text == passage

    def test_no_more_is_searched_than_an_encoder_reads(self):
        kept = reformulate(HyDE(), "Air scatters blue light. " * 200).sub_queries[1].text
        assert 1_900 < len(kept) <= 2_000


class TestStepBack:
    def test_both_are_searched(self):
        answer = reformulate(StepBack(), "Sure, here is one:\nlight scattering in gases\nanother")
        assert answer.sub_queries == (ORIGINAL, SubQuery("light scattering in gases", "step_back", 0.8))


class TestDecomposition:
    def test_atomic_parts(self):
        """Parts that the settings allow."""
        answer = reformulate(Decomposition(parts=2), "- a b\n- c d\n- e f")
        assert [(s.text, s.kind) for s in answer.sub_queries] == [
            (QUERY.text, "original"),
            ("a b", "part"),
            ("c d", "part"),
        ]
        assert answer.route == "decompose"
        assert "at most 2" in system(Decomposition(parts=2))

    def test_the_question_repeated_is_the_pass_route(self):
        answer = reformulate(Decomposition(), "why is the sky blue")
        assert (answer.route, answer.sub_queries, answer.problem) == ("pass", (ORIGINAL,), None)

    @pytest.mark.parametrize(
        "reply",
        [
            "None",
            "N/A",
            "No decomposition needed.",
            "The question asks one thing.",
            "Keine Aufteilung nötig.",
            "无需分解。",
        ],
    )
    def test_a_remark_about_the_question_is_no_part(self, reply):
        answer = reformulate(Decomposition(), reply)
        assert (answer.route, answer.sub_queries) == ("pass", (ORIGINAL,))

    def test_a_note_behind_the_question_is_left_out(self):
        answer = reformulate(Decomposition(), "Why is the sky blue? (no decomposition needed)")
        assert (answer.route, answer.sub_queries) == ("pass", (ORIGINAL,))

    def test_an_only_part_that_ends_as_a_sentence_is_searched(self):
        assert reformulate(Decomposition(), "colour of the sky.").sub_queries[1].text == "colour of the sky."

    def test_no_part_says_so(self):
        assert "decomposition: nothing to search in ''" in reformulate(Decomposition(), "").problem


class TestExpansion:
    def test_terms_are_appended(self):
        answer = reformulate(Expansion(terms=3), "Rayleigh scattering, sky\n1. wavelength\n2. atmosphere")
        assert answer.sub_queries == (
            ORIGINAL,
            SubQuery("Why is the sky blue? Rayleigh scattering wavelength", "expansion", 0.8),
        )

    def test_or_searched_by_themselves_and_together_weigh_as_much(self):
        answer = reformulate(Expansion(form="sub_queries"), "Rayleigh scattering\nwavelength")
        assert answer.sub_queries == (
            ORIGINAL,
            SubQuery("Rayleigh scattering", "expansion", 0.4),
            SubQuery("wavelength", "expansion", 0.4),
        )

    def test_chinese_commas(self):
        texts = [s.text for s in reformulate(Expansion(form="sub_queries"), "瑞利散射\u3001波长").sub_queries]
        assert texts[1:] == ["瑞利散射", "波长"]


@EVERY
class TestEvery:
    @pytest.mark.parametrize(
        "reply",
        [
            "",
            " \n\t",
            "?",
            "...",
            "Here are the queries:",
            "I'm sorry, but I can't help with that.",
            "对不起\uff0c我无法回答。",
            "<think>hmm",
        ],
    )
    def test_an_empty_reply_searches_the_query_and_says_why(self, strategy, reply):
        answer = reformulate(strategy, reply)
        assert (answer.route, answer.sub_queries, answer.calls) == ("pass", (ORIGINAL,), 1)
        assert f"{strategy.name}: nothing to search in" in answer.problem

    def test_a_failed_call_searches_the_query_and_says_why(self, strategy):
        answer = reformulate(strategy, Completion("", 0, False, problem="APITimeoutError: timed out"))
        assert (answer.route, answer.sub_queries) == ("pass", (ORIGINAL,))
        assert answer.problem == f"{strategy.name}: APITimeoutError: timed out"

    def test_the_model_reads_conversation_and_first_results_as_harmless_text(self, strategy):
        query = Query("q", "and\nits <|im_end|> sky?", ("What is Mars?",), (Snippet("Mars", "dust <|im_start|>"),))
        asked = strategy.conversation(query)
        assert asked[-1]["content"].splitlines() == [
            "U: What is Mars?",
            "- Mars: dust < |im_start|>",
            "Question: and its < |im_end|> sky?",
        ]
        assert [m["role"] for m in asked[:3]] == ["system", "user", "assistant"]

    def test_the_domain_is_part_of_the_prompt(self, strategy):
        assert "old maps" in system(type(strategy)(domain="old maps"))
        assert "{" not in system(strategy)

    @given(reply=st.text(), text=st.text())
    def test_whatever_is_asked_and_written_there_is_something_to_search(self, strategy, reply, text):
        query = Query("q", text)
        answer = reformulate(strategy, reply, query)
        assert answer.sub_queries[0].text == query.text
        assert len(answer.sub_queries) <= 7
        assert all(s.weight > 0 and len(s.text) <= 2000 + len(text) for s in answer.sub_queries)
