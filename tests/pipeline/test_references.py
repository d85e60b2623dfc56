"""What a text points to, and following it."""

import time

import pytest
from pipeline_stand_ins import AnyDocument, Endless

from acqo_rl.pipeline.references import ReferenceFollower, find_references
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.types import Query


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("See also: Neural Networks, Deep Learning; Entropy.", ("Neural Networks", "Deep Learning", "Entropy")),
        ("It refers to the Treaty of Versailles.", ("Treaty of Versailles",)),
        ("as described in Attention Is All You Need, it", ("Attention Is All You Need",)),
        ("For more information, see Query Rewriting.", ("Query Rewriting",)),
        ("the [user guide](https://example.org/a) and ![picture](x.png)", ("user guide",)),
        ("You may see also the Louvre, Orsay.", ("the Louvre", "Orsay")),
        ("[`a_name`](a.md), [**Bold** one](b.md) and [A Title](t.md 'of it')", ("a_name", "Bold one", "A Title")),
        ("[Chapter 4][4], <https://example.org>\n\n[4]: c.md", ("Chapter 4",)),
        # a dot inside a number
        ("as described in Section 3.2 of it.", ("Section 3.2",)),
        ("See also section 3.2, Chapter 4.", ("section 3.2", "Chapter 4")),
        # several targets, in words and in structure
        ("as described in chapter four, or in the text", ("chapter four",)),
        ("For more information read: “On Growth” and “Form in Nature”.", ("On Growth", "Form in Nature")),
        ("As explained in Sections 3 and 5.1 of it", ("Section 3", "Section 5.1")),
        ("For further details on HTTP, consult RFC 7231, Table 2 and RFC 9110.", ("RFC 7231", "Table 2", "RFC 9110")),
        ("See also https://example.org/a.b?x=1,2 and Entropy.", ("https://example.org/a.b?x=1,2", "Entropy")),
        ("See also:\n- Heat pumps\n- `numpy.linalg.norm`\n\nMore.", ("Heat pumps", "numpy.linalg.norm")),
        ("<h2>See also</h2><ul><li>Entropy<li><a href='b'>A Title</a></ul><p>The end.", ("A Title", "Entropy")),
        ("(see also Heat Pumps, J. R. Hartley, and Node.js) or not", ("Heat Pumps", "J. R. Hartley", "Node.js")),
        ("Refer to numpy.linalg.norm.", ("numpy.linalg.norm",)),
        ("It refers to https://example.org/a and is new.", ("https://example.org/a",)),
        ("Read: my_own_module, please.", ("my_own_module",)),
        (f"Refer to {'a' * 80}.b now.", (f"{'a' * 80}.b",)),
        (f"{'= ' * 30}see also heat pumps", ("heat pumps",)),
        # plain English
        ("it refers to 12.5 million people. As shown in part by Darwin, Bell was", ()),
        ("recall refers to the share found", ()),
        ("as shown in all of them; for more details see below", ()),
        ("as described in Deep Learning, Networks are good", ("Deep Learning",)),
        # longer than 3, once, at most 5
        ("See also: abc, Abcd, abcd", ("Abcd",)),
        ("See also: One1, Two2, Three, Four, Five, Sixth", ("One1", "Two2", "Three", "Four", "Five")),
    ],
)  # fmt: skip
def test_find_references(text, references):
    assert find_references(text) == references


@pytest.mark.parametrize("part", ["See also\n", "It refers to Torque. ", 'refers to "', "(see also "])
def test_any_number_of_pointers_is_read_in_time_in_proportion_to_the_text(part):
    begin = time.process_time()
    find_references(part * 2000)
    assert time.process_time() - begin < 1


FOUND = {"q": ("bert", "undated"), "Transformer": ("transformer", "bert"), "Attention Is All You Need": ("attention",)}


@pytest.fixture
def state():
    return RetrievalState(Query("q", "q"))


def test_breadth_first_by_depth(state, search_over):
    """The same order in every process, no query twice."""
    search, retriever = search_over(FOUND)
    state = ReferenceFollower(search).run(state)
    assert retriever.calls == [["q"], ["Transformer"], ["Attention Is All You Need"]]
    assert [(s.action, s.doc_ids) for s in state.path] == [
        ("retrieve", ("bert", "undated")),
        ("follow_reference", ("transformer",)),
        ("follow_reference", ("attention",)),
        ("aggregate", ("bert", "undated", "transformer", "attention")),
        ("stop", ()),
    ]
    first, second, *_, joined, stop = state.path
    assert first.references_found == ("Transformer",)
    assert second.reasoning == "Retrieved 1 new documents, found 1 references"
    assert second.step_id.startswith("step_1_") and len(second.step_id) == len("step_1_") + 6
    assert "4 new documents in 3 steps" in joined.reasoning
    assert (stop.reasoning, stop.references_found) == ("There are no new references", ())


def test_depth_and_documents_end_it(state, search_over):
    state = ReferenceFollower(search_over(FOUND)[0], depth=2).run(state)
    assert set(state.passages.found) == {"bert", "undated", "transformer"}
    stop = state.path[-1]
    assert (stop.action, stop.depth, stop.reasoning) == ("stop", 2, "The maximum depth 2 is reached")
    assert stop.references_found == ("Attention Is All You Need",)  # what was left
    fresh = RetrievalState(Query("q", "q"))
    fresh = ReferenceFollower(search_over(FOUND)[0], documents=1).run(fresh)
    assert list(fresh.passages.found) == ["bert"]
    assert fresh.path[-1].reasoning == "1 new documents are enough"
    assert fresh.journal.trace.steps[-1].detail == "stopped: 1 new documents in 1 steps"


@pytest.mark.parametrize(("documents", "texts", "found"), [(10, 1 + 5, 10), (1000, 1 + 5 + 5, 5 + 25 + 25)])
def test_the_default_limits(state, searching, documents, texts, found):
    """Three depths, five queries a depth, five passages a query, ten documents."""
    retriever = Endless()
    corpus = AnyDocument("See also: Left {query} {rank}, Right {query} {rank}.")
    state = ReferenceFollower(searching(retriever, corpus), documents=documents).run(state)
    assert sum(len(call) for call, _ in retriever.calls) == texts
    assert len(state.passages.found) == found
