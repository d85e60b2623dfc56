"""Which queries are in another language, from their words and their conversation."""
# ruff: noqa: RUF001

import subprocess
import sys

import pytest

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.languages import ENGLISH, can_read
from acqo_rl.types import Query, Turn

OTHERS = """
होटल एडलर के बारे में बताओ।|क्या वहाँ पूल है?|WiFi है?|wifi?
சென்னையில் உள்ள ஹோட்டல் பற்றி சொல்லுங்கள்|அங்கே நீச்சல் குளம் உள்ளதா?|விலை என்ன?
บอกเกี่ยวกับโรงแรมแอดเลอร์หน่อย|มีสระว่ายน้ำไหม|มี WiFi ไหม
হোটেল অ্যাডলার সম্পর্কে বলুন।|সেখানে কি পুল আছে?|WiFi আছে?
أخبرني عن فندق أدلر|هل يوجد مسبح؟|السعر؟
ספר לי על מלון אדלר|יש שם בריכה?|יש WiFi?
Расскажи об отеле Адлер|Там есть бассейн?|А когда он умер?|цена?
Πες μου για το ξενοδοχείο Άντλερ|Έχει πισίνα;|Έχει WiFi;
ホテル・アドラーについて教えて|プールはありますか？|中国は？
介绍一下阿德勒酒店|有游泳池吗？|有WiFi吗？
아들러 호텔에 대해 알려줘|수영장이 있나요?|WiFi 있어?
އުލްމްގައި Hotel Adler އެބަހުރި|އެތަނުގައި އަދި Lima ގައި ކީކޭ؟
ߟߊ߬ߘߌ߬ ߞߋߟߋ߲ ߝߐ߫|ߖߌ ߦߋ߫ ߦߋ߲߬ ߓߊ߬؟
ܐܡܪ ܠܝ ܥܠ ܦܘܢܕܩܐ|ܐܝܬ ܬܡܢ ܒܪܟܬܐ؟
Erzähl mir etwas über das Hotel Adler|Gibt es dort einen Pool?|Hat es WLAN?|Und von Spanien?
Parle-moi de l'hôtel Adler|Y a-t-il une piscine ?|Quand est-il mort ?|Par qui ?
Háblame del hotel Adler|¿Quién lo construyó?|¿Cuándo murió?
""".strip().splitlines()
SHORT = """
nginx reload|Köln cathedral height|CVE-2021-44228|mypy strict mode|Citroën C4 engine|Peugeot 308 fuel consumption|wifi
Schrödinger equation|La La Land soundtrack|What does 東京 mean?|λ calculus|Zürich|ISO 9001|42|???
"""
FOLLOW_UPS = {
    "Tell me about Hotel Adler in Ulm": "pool?|wifi password|and Zürich?",
    "Who painted Las Meninas?": "died?|La Fragua de Vulcano?",
    "What is the capital of France?": "Deutschland?|Berlin",
}


def asked(text, *said):
    return Query("q", text, tuple(Turn("user", one) for one in said))


@pytest.mark.parametrize("chat", OTHERS)
def test_follow_ups_in_another_language_are_left_as_they_are(chat):
    said, *texts = chat.split("|")
    answers = Heuristic().reformulate([asked(text, said) for text in texts])
    assert [one.sub_queries[0].text for one in answers if one.notes] == texts


def test_names_codes_and_short_english_queries_are_read():
    texts = SHORT.strip().replace("\n", "|").split("|")
    assert [text for text in texts if not can_read(asked(text), ENGLISH)] == []
    chats = [asked(text, said) for said, texts in FOLLOW_UPS.items() for text in texts.split("|")]
    assert [query.text for query in chats if not can_read(query, ENGLISH)] == []


def test_neither_the_query_nor_its_conversation_is_in_another_language():
    english = "Tell me about Hotel Adler in Ulm"
    hindi = "होटल एडलर के बारे में बताओ।"
    texts = {"Does it have a pool?": hindi, "क्या वहाँ पूल है?": english, "Hat das Hotel einen Pool?": english}
    assert not any(can_read(asked(text, said), ENGLISH) for text, said in texts.items())


def test_plain_english_is_read_without_the_detector_and_without_scipy():
    """Both take most of the time of a search on the command line."""
    code = """
import sys
from acqo_rl.reformulation.languages import ENGLISH, can_read
from acqo_rl.types import Query, Turn
for query in sys.argv[1:]:
    assert can_read(Query("q", query, (Turn("user", "What is the currency code of Peru?"),)), ENGLISH)
    print("py3langid" in sys.modules, "scipy" in sys.modules)
"""
    command = [sys.executable, "-c", code, "Which countries use it?", "Does it have a pool?", "pool?"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False"] * 4 + ["True", "False"]
