"""A question that chooses between two things becomes one search for each, which makes sense without the other."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.splitting import parts_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # an amount
        ("Which country has more people, Kenya or Ghana?", ["how many people {} has", "Kenya", "Ghana"]),
        ("Does Kenya or Ghana have more people?", ["How many people does {} have", "Kenya", "Ghana"]),
        ("Do lions or tigers run faster?", ["How fast do {} run", "lions", "tigers"]),
        ("Does Kenya have more people than Ghana?", ["How many people does {} have", "Kenya", "Ghana"]),
        ("Does tea have less caffeine than coffee?", ["How much caffeine does {} have", "tea", "coffee"]),
        ("Does gold cost more than silver?", ["How much does {} cost", "gold", "silver"]),
        ("apples or oranges, which have more sugar?", ["how much sugar {} have", "apples", "oranges"]),
        ("which has more sugar, apples or oranges", ["how much sugar {} have", "apples", "oranges"]),
        ("Which weighs more, a lion or a tiger?", ["how much {} weighs", "a lion", "a tiger"]),
        ("Which weighs more, lions or tigers?", ["how much {} weigh", "lions", "tigers"]),
        ("Who scored more goals in 1990, Pele or Rush?", ["how many goals {} scored in 1990", "Pele", "Rush"]),
        ("Which is used in more places, tin or zinc?", ["how many places {} is used in", "tin", "zinc"]),
        # a degree
        ("which lives longer, a parrot or a tortoise", ["how long {} lives", "a parrot", "a tortoise"]),
        ("Which planet spins faster, Earth or Mars?", ["how fast {} spins", "Earth", "Mars"]),
        ("which is healthier, almonds or cashews", ["How healthy are {}", "almonds", "cashews"]),
        ("Does coffee taste more bitter than tea?", ["How bitter does {} taste", "coffee", "tea"]),
        ("Between two singers Ann Lee and Bo Li, who is older?", ["How old is {}", "Ann Lee", "Bo Li"]),
        # a time
        ("Who died first, Haydn or Mozart?", ["when {} died", "Haydn", "Mozart"]),
        ("Which ship sank first, the Vasa or the Titanic?", ["when {} sank", "the Vasa", "the Titanic"]),
        ("Which book was first published, Emma or Dune?", ["when {} was published", "Emma", "Dune"]),
        ("Which band Travis or Blur was formed first?", ["when {} was formed", "Travis", "Blur"]),
        ("Was Haydn or Mozart born first?", ["when {} was born", "Haydn", "Mozart"]),
        ("Which firm was founded before the other, Lego or Ikea?", ["when {} was founded", "Lego", "Ikea"]),
        ("Which film has the director who died first, Jaws or Heat?", ["when the director of {} died", "Jaws", "Heat"]),
        ("Which was decided first, X v. Gibb or Roe v. Wade?", ["when {} was decided", "X v. Gibb", "Roe v. Wade"]),
        ("Was Bohr or Dirac awarded the prize earlier?", ["when {} was awarded the prize", "Bohr", "Dirac"]),
        ("which game has been around longer Go or Risk", ["how long {} has been around", "Go", "Risk"]),
        # an indirect question
        ("Whether Lund or Malmo is older", ["How old is {}", "Lund", "Malmo"]),
        ("whether or not gold or silver is denser", ["How dense is {}", "gold", "silver"]),
        ("Tell me whether Go or Java is faster", ["How fast is {}", "Go", "Java"]),
        ("I wonder whether Chad or Mali has more people", ["how many people {} has", "Chad", "Mali"]),
        ("Do you know if Haydn or Mozart died first?", ["when {} died", "Haydn", "Mozart"]),
        # what is said of one of them
        ("Which breed has long ears, the Pug or the Beagle?", ["{} has long ears", "the Pug", "the Beagle"]),
        ("Which director, Ann Lee or Bo Li, was a writer?", ["{} was a writer", "Ann Lee", "Bo Li"]),
        ("Which boxer won an Oscar, Ann Lee or Bo Li?", ["{} won an Oscar", "Ann Lee", "Bo Li"]),
    ],
)  # fmt: skip
def test_each_part_makes_sense_without_the_other_thing(text, parts):
    shape, *items = parts
    assert parts_of(text) == tuple(shape.format(item) for item in items)


@pytest.mark.parametrize(
    "text",
    [
        "Which came first, the chicken or the egg?",
        "which finished first, the tortoise or the hare?",
        "Which is first, spring or summer?",
        "What part of a dog can be straight, curled, or cork-screwed?",
        "Along with silk, wool or chiffon, what might it be made out of?",
        "Which do people prefer, tea or coffee?",
        "Who won, Ali or Frazier?",
        "Ali or Frazier: who won?",
        "Who lost the election, Ann Lee or Bo Li?",
        "Who won the 2008 final, Ann Lee or Bo Li?",
        "Who would win in a fight, a lion or a tiger?",
        "Who was right, Hume or Kant?",
        "Did Ann Lee and Bo Li publish more than 15 novels?",
        "Does Burma have more than one religion?",
        "Do cats or dogs sleep more than an hour?",
        "Does the minority or majority party have more seats?",
        "Are early or late maturing boys taller and stronger than their friends?",
        "Is it true that Everest or K2 is harder to climb?",
        "Who merged with Exxon or Mobil?",
        "Which actor played in Heat or Jaws?",
        "was star wars a book or a movie first",
    ],
)
def test_a_choice_whose_parts_would_say_nothing_is_left_whole(text):
    assert parts_of(text) == ()
