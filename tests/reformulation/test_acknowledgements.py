"""Acknowledgements of an answer are small talk; follow-ups with the same words are not."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import json
from importlib.resources import files

import pytest

from acqo_rl.reformulation.small_talk import asks_for_nothing
from acqo_rl.types import Query

TALK = ("U: Tell me about Oslo.", "S: Oslo is the capital of Norway.")
ASKED = ("U: Tell me about Oslo.", "S: Do you mean the city in Norway?")
ACKNOWLEDGEMENTS = """
np | no prob | no problem | no worries | Perfect, that helps. | cheers! | great, that works | awesome, thx
perfect thank you | ok cool | got it, thanks | gotcha | roger | roger that | noted | duly noted | copy that
will do | sounds great | sounds perfect | good to know | good point | nice! | sweet | brilliant | fantastic
superb | neat | right on | fair | fair point | makes sense now | that makes sense, thanks | ah ok | ahh I see
oh I see now | I understand | I get it now | understood, thank you | clear | all clear | crystal clear
all good | we're good | I'm all set | all set, thanks | that's it | that is it for now | that's everything
that will do | that'll do | that does it | done | I'm done here | great help | big help | very helpful
super helpful | so helpful | helpful, thanks | this is helpful | that was helpful | really useful | useful info
you're the best | you are a lifesaver | lifesaver | legend | you legend | you're awesome | you saved me
saved my day | you made my day | love it | I love it | I like it | ta | ta very much | nice work | great answer
good answer | excellent answer, thanks | wonderful, thank you very much | ok perfect | ok great
okay sounds good | alright thanks | alright then | k thanks | kk | okie | okey dokey | yup thanks | thanks again
thanks anyway | thanks for nothing | thanks a ton | many thanks | my pleasure | anytime | any time
don't mention it | of course | sure thing | np at all | not at all | welcome | yw | ur welcome | you bet
no thanks | no that's all | nope, that's all | nothing else thanks | that answers it | that answers my question
question answered | problem solved | solved | it works now | works for me | works like a charm | fixed
that fixed it | that did it | that did the trick | that worked, thanks | worked perfectly | ok bye | bye for now
see ya | later! | take it easy | peace | have a good one | enjoy your day | good talk | nice chat
it was nice talking to you | thank you for your time | thanks for your patience | thanks for explaining
appreciate it | much appreciated | I appreciate that | really appreciate it | appreciated | grateful
so grateful | God bless you | bless you | congrats | congratulations | well done | bravo | kudos | kudos to you
wow | wow amazing | omg thanks | omg | oh wow | haha nice | lol ok | rofl | :) | 👍 | 🙏🙏 | thx!! | tysm!!
thank youuu | okk thanks | yay | yesss | hooray | phew | hmm ok | ok I see | I see, interesting
interesting, thanks | how interesting | cool cool | cool, thank you | nice one mate | great stuff
good stuff, cheers | perfect! | That's perfect | That's great | That's great, thank you so much! | This is great
that is awesome | it's perfect | exactly what I needed | just what I needed | exactly | precisely | spot on
that's right | that's correct | correct | right | true | indeed | agreed | I agree | absolutely | totally
ok understood | ok, good | good, thanks | fine, thanks | fine by me | I'm fine thanks | ok will check
I'll try that | I'll check it out | let me try | will try, thanks | I will look into it, thanks
happy to hear that | glad to hear it | good to hear | alles klar | super | passt | passt schon | kein Problem
gern geschehen | gerne | top | klasse | prima | verstanden | ach so | okay danke | perfekt, danke | das passt
das war hilfreich | d'accord merci | parfait | super merci | pas de problème | ça marche | bien reçu | compris
nickel | très bien | entendu | perfecto | genial | vale gracias | de nada | no hay problema | entendido
muy bien | listo | estupendo | está bien | perfetto | va bene grazie | nessun problema | capito | ottimo
figurati | certo | perfeito | ótimo | sem problema | entendi | beleza, obrigado | tá bom | prima bedankt
geen probleem | begrepen | top, bedankt | perfekt tack | inga problem | förstår | toppen | ingen problem
nie ma problemu | rozumiem | świetnie | super dzięki | sorun değil | anladım | harika | tamam teşekkürler
понятно | отлично | ясно | понял спасибо | нет проблем | супер | 好的 | 明白了 | 知道了 | 太好了 | 没问题
收到 | 完美 | 了解
わかりました | 了解です | なるほど | 完璧です | 問題ない | 알겠습니다 | 네 알겠어요 | 좋아요 | 완벽해요 | فهمت | ممتاز
समझ गया
बहुत अच्छा
ठीक है धन्यवाद | Amazing, that's all I wanted to know. | Sweet, cheers | Ok got it, will read it later | Ace!
Smashing | thats perfect ty | Cool beans | Much better now, thank you | That clears it up
That cleared things up, thanks | okay that answers everything | I think I'm good for now | I have what I need
Got what I needed, thanks | You've been super helpful | You're very kind | u r awesome | that's so kind of you
Thanks, this is gold | Noted with thanks | Much obliged! | Appreciate the help | Appreciate your quick reply
That is really good to know | Ah, right. | Oh I see, thank you | Ha, good one | Haha ok | Great. Thanks. Bye.
Nice, that was quick | wow that was fast | thanks, no more questions | ok, I'm satisfied
Have a lovely weekend! | All right, good night | thx for the info | Thanks for the heads up | thanks man
cheers pal, that worked | Lovely, ta | Danke, das reicht mir | Super, das hat geklappt!
Danke, hat funktioniert | Wunderbar, danke | Super, c'est noté | C'est très clair, merci | Vale, perfecto
¡Qué bien, gracias! | Muy amable, gracias | Funciona, gracias | Perfetto, grazie mille | Fantastico!
Funziona, grazie | Show, valeu! | Funcionou, obrigado | Mooi, dank je | Top, werkt nu | Kanon, tack
Det fungerar, tack | Takk, det var alt | Super, działa | Süper, çok sağ ol | Круто, спасибо
Всё работает, спасибо | 可以了，谢谢 | 太棒了！ | 懂了，感谢 | すごい、ありがとう | うまくいきました
해결됐어요, 감사합니다 | 대박 | बढ़िया, धन्यवाद
haha that's funny | hahaha nice | hahah | ahahaha ok | lol that is so true | rofl that's hilarious | lolol
that's funny | haha you're funny | that was funny lol | hehe, how funny | you made me laugh haha | lol nvm | hihi danke
jajaja gracias | haha das ist lustig | хаха спасибо | 哈哈 好的 | ㅋㅋㅋ | ㅋㅋ 네 | 😂😂 that's hilarious | haha true
Awesome sauce | Righto, thanks | Thanks, I'll give it a shot | Thank you, problem fixed | Brill, thank you
ok that's clear now | Makes sense, appreciate it | Aha! | I'll keep that in mind | That was quick, thanks!
This was super useful, thank you | You explained it well, thanks | thank you, you have answered my question
Thanks for clearing that up | no further questions, cheers | Fantastic help, thanks | Yep, all good
Yes, that's right | Good enough, thanks | That'll be all | That should do it, thanks | OK, will do.
I am very grateful | Oh nice | pretty cool | Very well, thank you | That's what I thought | just saying hi
Bonjour, merci beaucoup ! | Ah okay, danke dir | Alles gut, danke | Estupendo, muchas gracias
Ok grazie, tutto chiaro | Certo, grazie | Valeu, ajudou muito | Oké, dankjewel | Jättebra, tack | Dobra, dzięki
Tamamdır, teşekkürler | Окей, спасибо | 好，谢谢 | はい、ありがとうございます | 네, 감사합니다
"""
FOLLOW_UPS = """
haha who is he | lol why | haha clinic | lol dolls | lol meaning | funny | funny films | how funny is it
haha and the mayor | lol the second one | that funny film | you made me laugh lyrics | hahaha song
its best time | best time | the best time to go | good time to visit | is it good | how good is it
is that right | is this correct | what is the best | the good one | the right one | good ones | good hotels
nice hotels | cheap and good | very good hotels | best answer | the info | more info | info | more help
get help | help with it | explain | explain it | explanation | answers | try it again | try again | check it
check again | look it up | look | see more | read more | get more | get it | tell me more | more | more of it
next | again | go on | continue | and the week after | and this week | this week | today | the first day
day one | first day | life there | everything about it | all of it | all about it | its life | that time
at that time | this day | that job | the job | that star | this star | its star | that legend | the legend
its legend | true story | the true one | clear water | is it clear | right wing | very big | how big | big ones
is it big | is it huge | its huge | kind of it | that kind | kind | what kind | this kind | that point
the point of it | which point | I need it now | I need more | I want it | I want to know | I want to know more
I want to see it | I would like to see it | I would like to know | I'd like to know its history
I would like it | let me see it | let me know | let me know more | let me see more | let me know the best
can I get it | we did it there | I have a time | I have another | it has more | does it work | did it work
do you know it | did you know it | will it work | will it help | that helps who | it works with what
it does what | that does not help | that's not right | that is wrong | it is not working | it doesn't work
doesn't help | not helpful | perfect tense | perfect numbers | super bowl | sweet home | great fire | fair trade
cool water | brilliant films | fantastic four | true crime | right to buy | done deal | copy that file
the clear one | happy days | happy meal | glad rags | big ben | huge | love life | love story | like that one
like this | like it but cheaper | I like it cheaper | that one | this one | the same | same | that | this | it
those | these | its | you | me | so | very | really | so big | so what | so how | now what | just that
just this one | all | all of them | most | most of them | the most | most helpful one | most useful
exactly how | exactly when | exactly where | what I needed to know | what I need | what exactly | just what
works by her | works of art | her works | works | all works | works made later | made there | who made it
saved by her | what saved it | time | what time | time there | the time there | sound of it | looks like it
looks like what | seems like it | point | set | set it | read it | sounds | thanks, but which is cheaper
ok, and the mayor | great, now the population | perfect, and in winter? | cool, show me the second one
nice, how do I get there | got it, but why | no, the other one | no, I meant Bergen
I see, so is it the biggest | thanks, I also need the address | ok I will take the cheap one
I like the second one | I like Bergen better | you said it has a fjord | you forgot the date
that was built by whom | that works for children? | it looks old | it was great in 1900 | this is the best one?
does that help with pain | helps with pain | it helps with pain | the trick with it | the point of view
good point defence | the best tips | tips | good tips for families | work permits | good work visa
great work of Ibsen | sure, send me the list | yes, the first | yes the map | fine dining | fine for speeding
enough water | right of way | sounds of it | looks of the town | all set meals | clear skies there | the answer
your name | you are here map | you are my sunshine lyrics | love it or list it | I will survive lyrics
i want it that way lyrics | let it be | take it easy lyrics song | Nice weather | Peace prize | top sights
sights | done by | solved murders | noted residents | true names | legend of it | champion | champions | star
stars there | thanks, which bus | perfect, but I need two | nice, is there parking | that's too expensive
that's far | it's cold there | you are wrong | that is not what I asked | I see two of them
I see it has a port | I get paid monthly | I will try the museum | I read it was burnt | let me check the prices
I am happy in Oslo | I am good at skiing | works council | works of Munch | clear answer on tax
very kind people | good one near me | right answer to this | looks nice in winter | sounds of Oslo
really good sushi | so fast trains | so helpful staff | best one | best time for it
everything I need for a trip | just what they ate | it is the best city | this is a good start point
that's the point I mean | ok and the answer to life | sure, the first one | exactly the opposite | all about you
all good schools
"""


def messages(listed):
    return [message for line in listed.strip().splitlines() for message in line.split(" | ")]


@pytest.mark.parametrize("text", messages(ACKNOWLEDGEMENTS))
def test_an_acknowledgement_asks_for_nothing(text):
    assert asks_for_nothing(Query("q", text, TALK))


@pytest.mark.parametrize("text", messages(FOLLOW_UPS))
def test_a_follow_up_with_the_words_of_an_acknowledgement_asks_for_something(text):
    assert not asks_for_nothing(Query("q", text, TALK))


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("clear", True),
        ("yes, the top", True),
        ("top", True),
        ("that works, thanks", False),
        ("Perfect, that helps.", False),
    ],
)
def test_a_word_that_may_answer_a_question_is_no_acknowledgement_after_one(text, asks):
    assert asks_for_nothing(Query("q", text, ASKED)) != asks


def test_questions_of_the_package_ask_for_something():
    for name in ("labelled_questions", "held_out_questions", "everyday_questions"):
        lines = files("acqo_rl").joinpath("reformulation", f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        texts = [row.get("text") or row.get("query") or row.get("question") for row in map(json.loads, lines)]
        assert [text for text in texts if asks_for_nothing(Query("q", text, TALK))] == []
