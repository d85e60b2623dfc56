"""Messages that ask for nothing are searched as they stand, whoever reformulates."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.adaptive import Adaptive
from acqo_rl.reformulation.fallback import else_rules
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.load import STRATEGIES, load_reformulator
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.small_talk import asks_for_nothing, is_small_talk, past_small_talk
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.types import Query, Reformulation, SubQuery

SMALL_TALK = [
    *("hi", "Hi!", "hiii", "hello there", "Good morning, everyone!", "GOOD EVENING", "hey, how are you today?"),
    *("thanks!", "Thank you so much for your help.", "ok, thanks", "okay great, thanks a lot", "no, thank you", "thx"),
    *("bye", "Goodbye and thank you", "see you later", "Have a nice day!", "you\u2019re welcome", "What's up?"),
    *("lol", "haha", "cool", "That's all, thanks", "\U0001f44b", "thanks \U0001f642", "\u2764\ufe0f"),
    *("Danke sch\u00f6n!", "Merci beaucoup", "\u00a1Hola! \u00bfQu\u00e9 tal?", "grazie mille", "Muito obrigado"),
    *(
        "\u4f60\u597d\uff01",
        "\u8c22\u8c22\u4f60",
        "\u3053\u3093\u306b\u3061\u306f",
        "\u0928\u092e\u0938\u094d\u0924\u0947",
    ),
    *(
        "\uc548\ub155\ud558\uc138\uc694",
        "\u0634\u0643\u0631\u0627\u064b",
        "\u0421\u043f\u0430\u0441\u0438\u0431\u043e!",
    ),
]
THANKS_WITH_MORE = [
    *("Thank you so much, that was helpful.", "Thanks, that is exactly what I was looking for!", "That helped, thanks"),
    *("thanks, you've been a great help", "ok thank you, that answers my question", "Thank you for explaining this."),
    *("Vielen Dank, das hilft!", "Danke, das hat mir sehr geholfen", "Das war alles, danke", "Super, vielen Dank!"),
    *("Merci, c'est parfait", "Merci, ça m'a beaucoup aidé.", "merci, c'est tout", "gracias, eso es todo"),
    *("Muchas gracias, me ayudó mucho", "Grazie, mi hai aiutato molto", "Obrigado, isso ajudou muito"),
    *("Bedankt, dat helpt", "Tack, det hjälpte", "Takk, det hjelper", "Dziękuję, to bardzo pomocne"),
    *("Teşekkürler, çok yardımcı oldu", "Спасибо, это очень помогло", "谢谢，很有帮助", "ありがとう、助かりました"),
    *("that helps", "This is exactly what I needed!", "It works", "das hilft sehr", "ça suffit", "makes sense"),
    *("who are you?", "What can you do?", "Are you a bot?"),
    *("감사합니다, 도움이 됐어요", "sorry", "test", "Entschuldigung", "lo siento"),
]
REACTIONS = [
    *("yes", "no", "yes please", "ok", "sure", "Ja, bitte", "nein", "oui", "non merci", "sí", "va bene", "sim"),
    *("да", "tamam", "是的", "はい", "네"),
]
QUESTIONS = [
    *("hello adele", "hi-fi amplifiers", "good morning vietnam", "goodbye lenin", "hey jude", "thank you next lyrics"),
    *("hi, where is Oslo?", "Thanks! And Bergen?", "good morning, what is the capital of Peru", "hello kitty price"),
    *(
        "cool jazz",
        "great wall",
        "nice france hotels",
        "cheers tv series",
        "ty cobb",
        "who said goodbye",
        "bye bye birdie",
    ),
    *(
        "yes",
        "ok",
        "???",
        "...",
        "",
        "sure",
        "no",
        "and its population?",
        "why?",
        "C++",
        "42",
        "Oslo",
        "there",
        "you",
        "assistant",
    ),
    *("Thanks, and its population", "Thanks, is it useful?", "Thanks, Oslo weather", "thanks for the memories"),
    *("Danke, wer war er", "Gracias, y su clima", "Thanks. Help me with it", "sorry song", "test cricket"),
    *("\u4f60\u597d\u674e\u7115\u82f1", "Danke Merkel", "hola airlines", "merci chocolate", "ciao bella lyrics"),
]
TALK = ("U: Tell me about Oslo.", "S: Oslo is the capital of Norway.")


def by_policy(model):
    settings = PolicySettings()
    return Policy(model, prompt_of(settings, len), settings)


def everyone(model):
    prompted = [load_reformulator(name, "stand-in", language_model=model) for name in ("prompted", *STRATEGIES)]
    adaptive = Adaptive({"raw": PassThrough(), "hyde": prompted[2]}, by_type={}, forced="hyde")
    return [by_policy(model), else_rules(by_policy(model), None), Heuristic(), RecentTurns(), adaptive, *prompted]


@pytest.mark.parametrize("text", [*SMALL_TALK, *THANKS_WITH_MORE, *REACTIONS])
def test_every_reformulator_passes_small_talk_without_a_model_call(text):
    model = ScriptedLanguageModel("resolve\nOslo weather")
    query = Query("q", text, TALK)
    for reformulator in everyone(model):
        [answer] = reformulator.reformulate([query])
        assert (answer.route, answer.sub_queries) == ("pass", (SubQuery(text, "original"),))
        assert (answer.problem, answer.calls) == (None, 0)
    assert model.calls == []


@pytest.mark.parametrize("text", QUESTIONS)
def test_what_asks_for_something_is_no_small_talk(text):
    assert not is_small_talk(text)


@pytest.mark.parametrize("text", REACTIONS)
def test_a_reaction_may_answer_the_question_before_it(text):
    assert asks_for_nothing(Query("q", text, TALK))
    asked = Query("q", text, (*TALK, "U: And Bergen?", "S: Do you mean the city in Norway?"))
    assert asks_for_nothing(asked) == is_small_talk(text)


@pytest.mark.parametrize("text", ["right?", "no country for old men", "ok computer", "yes, and Bergen", "why", "there"])
def test_what_only_begins_like_a_reaction_asks_for_something(text):
    assert not asks_for_nothing(Query("q", text, TALK))


def test_questions_of_the_package_are_no_small_talk():
    folders = {"reformulation": ["labelled_questions", "held_out_questions"], "evaluation": ["everyday_questions"]}
    for folder, names in folders.items():
        for name in names:
            lines = files("acqo_rl").joinpath(folder, f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
            texts = [row.get("text") or row.get("query") or row.get("question") for row in map(json.loads, lines)]
            assert len(texts) > 50
            assert [text for text in texts if is_small_talk(text)] == []


@given(st.lists(st.sampled_from(["hi", "thanks!", "Peru", "its capital?"]), max_size=8))
def test_answers_stay_in_the_order_of_the_queries_and_only_questions_are_reformulated(texts):
    asked = []

    def reformulate(queries):
        asked.extend(query.text for query in queries)
        return [Reformulation(q, "disambiguate", (SubQuery(f"{q.text}!", "reading"),), "test") for q in queries]

    queries = [Query(str(i), text) for i, text in enumerate(texts)]
    answers = past_small_talk(queries, reformulate, "test")
    assert [answer.query for answer in answers] == queries
    assert asked == [text for text in texts if text in ("Peru", "its capital?")]
    assert [answer.route == "pass" for answer in answers] == [text in ("hi", "thanks!") for text in texts]


@given(st.text(max_size=300) | st.lists(st.sampled_from(["thanks", "so", "much", "ha", "you", "x"])).map(" ".join))
def test_any_text_is_judged(text):
    assert is_small_talk(text) in (True, False)
