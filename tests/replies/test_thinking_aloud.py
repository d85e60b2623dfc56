"""Thoughts without any mark, which a truncated reply of a reasoning model consists of."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.model_classifier import ModelClassifier
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, HyDE, MultiQuery
from acqo_rl.replies.thinking_aloud import thinks_aloud
from acqo_rl.replies.thoughts import said_by
from acqo_rl.types import Completion, Query

QUERY = Query("q", "How many people live in Oslo?")
THOUGHTS = [
    "Okay, the user wants alternative queries about Oslo.\nFirst I should consider the meaning.\nThe meaning is",
    "Okay, so I need to generate three search queries for the question.\nThe population",
    "We need to produce alternative queries. The question asks about Oslo.",
    "We are given a question, so we need to write queries.",
    "Thinking Process:\n1. **Analyze the Request:** The user wants alternatives.\n2. **Draft",
    "Here's a thinking process that leads to the queries:\n1. Understand",
    "**Analyzing the Request**\nI read the question.",
    "Alright, let's tackle this step by step.\nOslo",
    "Hmm, the user is asking about the population of Oslo.",
    "The user\u2019s question is about Oslo.",
    "The task is to write three searches.",
    "嗯，用户问的是奥斯陆的人口。\n我需要写三个查询",
    "好的，用户想知道奥斯陆的人口",
    "首先，我需要理解这个问题",
    "Okay, der Nutzer möchte wissen, wie viele Menschen in Oslo leben.",
    "D'accord, l'utilisateur demande la population d'Oslo.",
    "Bien, el usuario quiere consultas sobre Oslo.",
    "Хорошо, пользователь спрашивает о населении Осло.",
    "ユーザーはオスロの人口について質問しています。",
    "좋아, 사용자가 오슬로의 인구를 묻고 있다.",
]
ANSWERS = [
    "Oslo population\nnumber of inhabitants of Oslo\npeople li",
    "Okay, here are three queries:\n1. Oslo population\n2. inhabitants of Os",
    "Sure! Here are the searches:\n- Oslo popul",
    "the user manual of the Oslo ticket app\nuser guide of the Os",
    "user wants and needs in urban planning\nneeds of us",
    "user interface analysis\nthinking fast and slow summary\nthink",
    "First aid courses in Oslo\nWe need to talk about Kevin film loc",
    "Let me know how many people live in Oslo\nOslo popul",
    "analysis of variance\nthe task force of Os",
    "Thinking\nThinking process of chess players\nThinking pro",
    "reasoning and argumentation\nreas",
    "The last question in Asimov's story\nThe last qu",
    "用户体验设计原则\n用户需求分析\n用户",
    "Nutzer von Fahrrädern in Oslo\nFahrr",
    "ユーザーインターフェース設計\nユーザ",
    "Good restaurants in Oslo\nGood ca",
]


@pytest.mark.parametrize("thought", THOUGHTS)
class TestThoughts:
    @pytest.mark.parametrize("strategy", [MultiQuery(), ClassifyAndRewrite(), HyDE()])
    def test_the_raw_query_is_searched_and_the_limit_is_named(self, thought, strategy):
        model = ScriptedLanguageModel(Completion(thought, 300, finished=False))
        made = Prompted(model, [strategy]).reformulate([QUERY])[0]
        assert [s.text for s in made.sub_queries] == [QUERY.text]
        assert "300 tokens" in made.problem
        assert "max_new_tokens" in made.problem

    def test_a_complete_reply_is_what_the_model_said(self, thought):
        assert said_by(Completion(thought, 9)) == Completion(thought, 9)

    def test_an_answer_after_the_thoughts_is_read(self, thought):
        assert said_by(Completion(f"{thought}</think>Oslo pop", 9, finished=False)).text == "Oslo pop"


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_was_cut_is_kept(answer):
    assert not thinks_aloud(answer)
    assert said_by(Completion(answer, 9, finished=False)).text == answer


def test_a_query_type_in_thoughts_is_no_label():
    cut = Completion("Okay, the user asks something. It could be a comparison", 9, finished=False)
    [answer] = ModelClassifier(ScriptedLanguageModel(cut)).query_types([QUERY])
    assert answer.query_type == "factual"
    assert "max_new_tokens" in answer.problem


def test_long_replies_cost_little():
    assert not thinks_aloud("so " * 100_000)
    assert not thinks_aloud("* " * 100_000)
