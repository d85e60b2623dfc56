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
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.load import STRATEGIES, load_reformulator
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.small_talk import asks_for_nothing, is_small_talk, past_small_talk
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.reformulation.with_rules import with_rules
from acqo_rl.types import Query, Reformulation, SubQuery

SMALL_TALK = [
    *("hi", "Hi!", "hiii", "hello there", "Good morning, everyone!", "GOOD EVENING", "hey, how are you today?"),
    *("thanks!", "Thank you so much for your help.", "ok, thanks", "okay great, thanks a lot", "no, thank you", "thx"),
    *("Hallo daar!", "Halo", "halo semuanya"),
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
IN_MANY_LANGUAGES = """
Is anyone there? | anybody here? | hello? | are you there? | u there? | gm | gn | gm everyone | good night all
ttyl | brb | tysm | tyvm | thank u so much | Thanks for everything | thanks for everything you did
thanks a bunch, you were very helpful | thank you for your patience | how r u | how are you doing today?
How's your day going? | what's new? | can you help me? | I have a question | May I ask you something?
Nice talking to you | pleasure to meet you | Have a great rest of your day | good to see you again
see you next week | talk to you later | take care, bye | much obliged | cheers mate | ok thanks bye | hey bot
hello, my friend | i'm back | I am done, thanks | that will be all for today, thank you
no more questions, thanks | no questions | welcome back | good luck | you too | same to you | Merci pour tout
Merci pour votre aide | merci à vous | merci infiniment | mille mercis | bonjour à tous | Bonne fin de journée
à bientôt | à plus tard | à demain | Il y a quelqu'un ? | Comment vas-tu ? | Tu es là ? | enchanté
merci de votre réponse | merci d'avance | Danke für alles | Danke für deine Hilfe | Vielen Dank für Ihre Hilfe
herzlichen Dank für die schnelle Antwort | Ist da jemand? | Bist du da? | Grüß Gott | Grüß dich | Hallo zusammen
Guten Morgen zusammen | Schönen Tag noch | Bis später | bis bald | mach's gut | Wie geht es Ihnen?
ich danke dir | wer bist du? | schönes Wochenende | Gracias por todo | gracias por tu ayuda
muchas gracias por su ayuda | muchísimas gracias | ¿Hay alguien ahí? | ¿Estás ahí? | Hola a todos | buen día
que tengas un buen día | nos vemos | hasta mañana | ¿Cómo te va? | mucho gusto | ¿quién eres?
te lo agradezco mucho | Grazie di tutto | grazie per l'aiuto | grazie per il tuo aiuto | C'è qualcuno?
Ciao a tutti | buona giornata | a presto | ci vediamo | Come ti chiami? | piacere di conoscerti | buonanotte
a domani | ti ringrazio | Obrigado por tudo | obrigada pela ajuda | valeu | Tem alguém aí? | oi, tudo bem?
tenha um bom dia | até logo | até mais | até amanhã | Muito prazer | como vai você? | bom dia a todos
agradeço a ajuda | Bedankt voor alles | bedankt voor je hulp | hartelijk dank | Is daar iemand? | hoe gaat het?
goedemorgen allemaal | fijne dag | tot later | tot morgen | doei | wie ben je? | Tack för allt
tack för hjälpen | tusen tack | Är det någon där? | hur mår du? | god natt | ha en bra dag | vi ses | hej då
hejsan | trevligt att träffas | Tak for alt | tak for hjælpen | Takk for alt | takk for hjelpen
hvordan har du det? | ha det bra | vi ses senere | Dziękuję za wszystko | dziękuję za pomoc | bardzo dziękuję
dzięki wielkie | Jest tam kto? | jak się masz? | dobry wieczór | dobranoc | do zobaczenia | miłego dnia
na razie | hej, co słychać? | Her şey için teşekkürler | yardımın için teşekkür ederim | çok teşekkürler
Kimse var mı? | nasılsın? | iyi geceler | iyi günler | görüşürüz | hoşça kal | sağ ol | iyi akşamlar
memnun oldum | Спасибо за всё | спасибо за помощь | большое вам спасибо | благодарю | Есть кто-нибудь?
как дела? | спокойной ночи | до завтра | хорошего дня | всего доброго | кто ты? | рад знакомству | привет всем
谢谢你的帮助 | 非常感谢您的帮助 | 谢谢大家 | 多谢 | 太感谢了 | 感谢你的回答 | 有人吗？ | 在吗？ | 你好吗？
你是谁？ | 大家好 | 早安 | 拜拜 | 明天见 | 回头见 | 好的，谢谢 | 谢谢，再见 | 辛苦了 | 麻烦你了 | 祝你愉快
謝謝你的幫助 | 助けてくれてありがとう | ありがとうございました！ | いろいろありがとう
本当にありがとうございます | 誰かいますか？ | お元気ですか？ | おやすみなさい | またね | また明日
お疲れ様でした | はじめまして | よろしくお願いします | やあ | ご回答ありがとうございます | 失礼します
도와주셔서 감사합니다 | 정말 고마워요 | 모두 감사합니다 | 거기 누구 있어요? | 잘 지내요? | 안녕히 계세요
안녕히 가세요 | 잘 자 | 내일 봐요 | 반갑습니다 | 수고하세요 | 여러분 안녕하세요 | 답변 감사합니다 | شكرا لك
شكراً جزيلاً | شكرا على مساعدتك | شكرا على كل شيء | هل من أحد هنا؟ | كيف حالك؟ | صباح الخير | مساء الخير
مع السلامة | إلى اللقاء | أهلا وسهلا | وعليكم السلام | تصبح على خير | من أنت؟ | बहुत धन्यवाद
आपकी मदद के लिए धन्यवाद | शुक्रिया | कोई है? | आप कैसे हैं? | शुभ रात्रि | सुप्रभात | अलविदा | फिर मिलेंगे
सब कुछ के लिए धन्यवाद | आप कौन हैं? | cảm ơn bạn rất nhiều | xin chào | terima kasih banyak | selamat pagi
дякую | дуже дякую за допомогу | děkuji | dobrý den | ευχαριστώ πολύ | γεια σας | kiitos paljon | hyvää päivää
mulțumesc frumos | bună ziua | köszönöm szépen | jó napot | תודה רבה | שלום | ขอบคุณครับ | สวัสดีค่ะ | متشکرم
سلام | ধন্যবাদ
"""
ASKS_WITH_A_GREETING = """
thanks giving history | Hello Kitty | good morning vietnam | hello world | hello world program in c
thank you for smoking | thank you next | good night and good luck film | goodbye mr chips | bye bye birdie
hey jude | hi fi | gm stock | gm cars | gn drive | welcome to the jungle | Thanks. Help me with it
Thanks, who is he | danke merkel | merci pralinen | merci pour le chocolat film | gracias por la música letra
hola airlines | ciao manhattan | tack strips | tak mountain | salut les copains | did anyone live there?
is it cold there? | how are you called in french | what is a good day rate | good day sunshine lyrics | day
help | help desk | time | the time | everything | morning sickness | night | 你好李焕英 | 谢谢你的爱歌词
早稻田大学 | 早餐 | ありがとうの語源 | お元気ですか 映画 | 감사원 | 안녕자두야 | شكر النعمة | спасибо дед
привет песня группы | who was there? | are there any? | is there one? | anyone else? | who else is there?
any questions about oslo | another question: who painted it | tell me everything | ha ha land
can you help me find a hotel | help me with its history | I have a question about Oslo | see you again song
you too ltd | welcome | luck | selamat hotel | xin chao restaurant | shalom auslander | salam bombay
谢谢你 歌曲 | in advance | have a nice day book | bis bald film | tot | na razie film | valeu a pena | tudo
alles | todo | tout | tutto
"""
TALK = ("U: Tell me about Oslo.", "S: Oslo is the capital of Norway.")


def messages(listed):
    return [message for line in listed.strip().splitlines() for message in line.split(" | ")]


def by_policy(model):
    settings = PolicySettings()
    return Policy(model, prompt_of(settings, len), settings)


def everyone(model):
    prompted = [load_reformulator(name, "stand-in", language_model=model) for name in ("prompted", *STRATEGIES)]
    adaptive = Adaptive({"raw": PassThrough(), "hyde": prompted[2]}, by_type={}, forced="hyde")
    return [by_policy(model), with_rules(by_policy(model), None), Heuristic(), RecentTurns(), adaptive, *prompted]


@pytest.mark.parametrize("text", [*SMALL_TALK, *THANKS_WITH_MORE, *REACTIONS])
def test_every_reformulator_passes_small_talk_without_a_model_call(text):
    model = ScriptedLanguageModel("resolve\nOslo weather")
    query = Query("q", text, TALK)
    for reformulator in everyone(model):
        [answer] = reformulator.reformulate([query])
        assert (answer.route, answer.sub_queries) == ("pass", (SubQuery(text, "original"),))
        assert (answer.problem, answer.calls) == (None, 0)
    assert model.calls == []


@pytest.mark.parametrize("text", messages(IN_MANY_LANGUAGES))
def test_greetings_thanks_and_small_talk_get_no_name_of_the_conversation(text):
    [answer] = Heuristic().reformulate([Query("q", text, TALK)])
    assert (answer.route, answer.sub_queries) == ("pass", (SubQuery(text, "original"),))


@pytest.mark.parametrize("text", [*messages(ASKS_WITH_A_GREETING), "halo infinite", "halo 3 release date"])
def test_a_query_with_a_word_of_small_talk_is_no_small_talk(text):
    assert not is_small_talk(text)


@pytest.mark.parametrize("text", ["thanks for being so patient", "merci vraiment pour ça", "tusen tack du är snäll"])
def test_thanks_with_any_reason_get_no_name_of_the_conversation(text):
    [answer] = Heuristic().reformulate([Query("q", text, TALK)])
    assert answer.sub_queries == (SubQuery(text, "original"),)


@pytest.mark.parametrize(
    "text", ["thanks, opening hours", "thanks and its mayor", "thanks who built it", "population, thanks"]
)
def test_thanks_beside_a_question_get_the_name_of_the_conversation(text):
    [answer] = Heuristic().reformulate([Query("q", text, TALK)])
    assert "Oslo" in answer.sub_queries[0].text


@pytest.mark.parametrize(
    "text",
    [
        *("thanks bergen", "ok thanks cheaper", "thanks more details", "merci plus de détails", "refund policy thanks"),
        *(
            "thanks the second",
            "Oslo thanks",
            "thanks iphone 15",
            "danke billiger",
            "gracias más barato",
            "grazie bergen",
        ),
        *("thank you opening hours", "bergen danke", "спасибо берген", "tack billigare", "thanks a lot vegan"),
    ],
)
def test_thanks_beside_another_word_are_a_request(text):
    assert not asks_for_nothing(Query("q", text, TALK))


@pytest.mark.parametrize(
    "text", ["thanks bro", "thanks so much", "thanks for the tip", "ok thanks for that", "tack snälla"]
)
def test_thanks_with_a_reason_or_a_friendly_word_ask_for_nothing(text):
    assert asks_for_nothing(Query("q", text, TALK))


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
    for name in ("labelled_questions", "held_out_questions", "everyday_questions"):
        lines = files("acqo_rl").joinpath("reformulation", f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
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
