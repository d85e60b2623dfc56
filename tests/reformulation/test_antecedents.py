"""The names of a conversation that a question refers to."""

from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.antecedents import antecedents
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.types import Query


@pytest.mark.parametrize(
    ("talk", "question", "names"),
    [
        # both of two people, also if the answer names them
        (
            ("Tell me about Goethe and Schiller.", "They were German poets."),
            "When did they meet?",
            ["Goethe", "Schiller"],
        ),
        (
            ("Who wrote Good Omens?", "Terry Pratchett and Neil Gaiman."),
            "How old are they?",
            ["Terry Pratchett", "Neil Gaiman"],
        ),
        (("Who was Ravel?", "A composer.", "And Satie?", "Another."), "Did they meet?", ["Satie", "Ravel"]),
        (("who were goethe and schiller?", "two poets"), "did they meet?", ["goethe and schiller"]),
        (("Compare Oslo and Bergen", "So.", "Who are Travis?", "A band."), "Where do they live?", ["Travis", "Bergen"]),
        # a conversation in lower case
        (("who is christopher nolan", "He is a film director."), "how old is he?", ["christopher nolan"]),
        (("who directed inception", "christopher nolan directed inception."), "is he rich?", ["christopher nolan"]),
        (("who directed inception", "it was directed by christopher nolan"), "is he rich?", ["christopher nolan"]),
        (("who wrote emma", "jane austen"), "did she marry?", ["jane austen"]),
        (("tell me about jane austen", "She was an English novelist."), "did she marry?", ["jane austen"]),
        (("tell me about pablo picasso", "Picasso painted."), "where was he born?", ["pablo picasso"]),
        (("who wrote it", "not known yet"), "did she marry?", []),
        (("who is the ceo of apple", "tim cook"), "how old is he?", ["tim cook"]),
        (("How do I reach Oslo?", "By train."), "Is it far?", ["Oslo"]),
        (("Tell me about Oslo.", "It's Lima."), "Is it far from Oslo?", ["Lima"]),
        # one thing, and not what was spoken of before it
        (("Compare Chad and Mali", "So.", "Where is Oslo?", "In Norway."), "and its currency?", ["Oslo", "Norway"]),
        (("Compare Chad and Mali", "So.", "Tell me about Oslo.", "A city."), "and its currency?", ["Oslo"]),
        (("Compare Chad and Mali", "Both are large."), "and its currency?", ["Mali"]),
        (("Compare Chad and Mali", "Chad is larger than Mali."), "What is its currency?", ["Chad"]),
        (("Where is the Louvre?", "Here.", "And the Prado?", "There."), "its opening hours?", ["Prado"]),
        (("Which is larger, the Louvre or the Prado?", "The Louvre."), "its opening hours?", ["Louvre"]),
        (("Tell me about the Louvre and the Prado", "So."), "their opening hours?", ["Louvre", "Prado"]),
        (("Who wrote Emma?", "Jane Austen."), "When was it published?", ["Emma"]),
        (("Who wrote Emma?", "Jane Austen."), "opening words?", ["Emma", "Jane Austen"]),
        # a place in another place
        (("Let us speak of San Felipe in Chile.", "Happy to help."), "What is its area?", ["San Felipe", "Chile"]),
        (("Tell me about Perth in the United Kingdom", "Glad to."), "Is it old?", ["Perth", "United Kingdom"]),
        (("Tell me about the Louvre, in Paris.", "So."), "When does it open?", ["Louvre", "Paris"]),
        # the first word of a reply is no name
        (("Tell me about Oslo.", "Wonderful!"), "What is its area?", ["Oslo"]),
        (("Tell me about Oslo.", "Certainly, it is in Norway."), "What is its area?", ["Oslo", "Norway"]),
        # a joined name is one thing
        (("Who wrote War and Peace?", "Leo Tolstoy."), "when was it published?", ["War and Peace"]),
        (("Where is War and Peace set?", "Here."), "does it end in peace?", ["War and Peace"]),
        (("When was War and Peace written?", "In 1869."), "opening words?", ["War and Peace"]),
        (("Who sings in Mumford and Sons?", "Marcus Mumford."), "When was it formed?", ["Mumford and Sons"]),
        (("Where is Antigua and Barbuda?", "Here."), "and is the population large?", ["Antigua and Barbuda"]),
        (("When was Frost and Glory published?", "In 1990."), "who wrote it?", ["Frost and Glory"]),
        (("Who directed Shine or Shadow?", "Ann Lee."), "when was it filmed?", ["Shine or Shadow"]),
        (("Tell me about Oslo and Bergen.", "Oslo is a capital."), "How large is it?", ["Oslo"]),
        (("Where are Oslo and Bergen?", "In Norway."), "How large is it?", ["Bergen"]),
        # one form of a name
        (
            ("Who is Picasso?", "Pablo Ruiz Picasso painted.", "So Pablo Picasso?", "Yes."),
            "Is it so?",
            ["Pablo Ruiz Picasso"],
        ),
    ],
)
def test_what_a_question_refers_to(talk, question, names):
    assert antecedents(question, read_history(talk)) == names


def test_titles_of_the_corpus_are_one_name():
    lexicon = Lexicon(titles=frozenset(["truth or consequences, new mexico", "a tale of two cities"]))
    for title in ("Truth or Consequences, New Mexico", "A Tale of Two Cities"):
        history = read_history((f"Where is {title}?", "There."))
        assert antecedents("and what is it known for?", history, lexicon) == [title.replace(",", "")]
        assert antecedents("and what is it known for?", history) != [title.replace(",", "")]


def test_a_follow_up_replaces_a_joined_name():
    history = ("What is the capital of Bosnia and Herzegovina?", "Sarajevo.")
    [made] = Heuristic().reformulate([Query("q", "and Austria?", read_history(history))])
    assert [sub_query.text for sub_query in made.sub_queries] == ["What is the capital of Austria"]


def test_a_name_in_another_form_is_not_added_to_a_question_that_has_it():
    history = ("Who painted Guernica?", "It was painted by Pablo Picasso.")
    for question in ("When did Picasso say that?", "when did picasso say that?"):
        [made] = Heuristic().reformulate([Query("q", question, read_history(history))])
        assert [sub_query.text for sub_query in made.sub_queries] == [f"{question} Guernica"]
    [made] = Heuristic().reformulate(
        [Query("q", "how high is the tower?", read_history(("Where is Eiffel Tower?", "In Paris.")))]
    )
    assert [sub_query.text for sub_query in made.sub_queries] == ["how high is the tower? Eiffel Tower Paris"]
