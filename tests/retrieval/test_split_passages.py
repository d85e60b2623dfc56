"""Documents that are longer than an encoder reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.splitting import long_documents, split_passages
from acqo_rl.text import passage_text
from acqo_rl.types import Document


class Words:
    """Counts words, and two tokens that an encoder adds."""

    def __init__(self, max_tokens):
        self.max_tokens = max_tokens

    def count_tokens(self, texts):
        return [2 + len(text.split()) for text in texts]


def split(documents, encoder):
    return split_passages(documents, encoder, long_documents(documents, encoder))


texts = st.lists(st.sampled_from(["one", "two.", "three!\n\n", "四。", "\n", "five,"]), max_size=80).map(" ".join)
documents = st.lists(st.tuples(st.sampled_from(["", "A title", "word " * 30]), texts), max_size=6).map(
    lambda rows: [Document(f"d{i}", title, text, {"page": i}) for i, (title, text) in enumerate(rows)]
)


@given(documents)
def test_every_word_is_in_a_passage_and_every_passage_is_read_to_its_end(documents):
    encoder = Words(16)
    passages = split(documents, encoder)
    assert max(encoder.count_tokens([passage_text(p) for p in passages]), default=0) <= 16
    for document in documents:
        own = [passage for passage in passages if passage.id == document.id]
        assert {passage.metadata["page"] for passage in own} == {document.metadata["page"]}
        if encoder.count_tokens([passage_text(document)])[0] <= 16:
            assert own == [document]
        else:
            assert " ".join(document.text[slice(*passage.span)] for passage in own).split() == document.text.split()
            words = [word for passage in own for word in passage.text.split()]
            assert words == (document.text if own[0].title else passage_text(document)).split()


def test_passages_keep_the_title_and_end_at_sentences():
    document = Document("d", "Oslo", "One two three four. Five six seven. Eight nine ten. Eleven twelve.")
    passages = split([document], Words(11))
    assert [(p.id, p.title) for p in passages] == [("d", "Oslo")] * len(passages)
    assert [p.text for p in passages] == ["One two three four. Five six seven.", "Eight nine ten. Eleven twelve."]


def test_a_document_of_white_space_stays():
    class Characters(Words):
        def count_tokens(self, texts):
            return [len(text) for text in texts]

    document = Document("d", "", "\n" * 100)
    assert split([document], Characters(20)) == [document]


def test_an_encoder_whose_prompt_leaves_no_room_is_refused():
    with pytest.raises(ConfigError):
        split([Document("d", "", "one two three")], Words(2))


def test_the_tokens_of_the_encoder_count_with_its_prompt(minilm):
    assert minilm.max_tokens == 256
    assert minilm.count_tokens(["", "a harbour", "word " * 1000, "\ud800"]) == [2, 4, 1002, 2]
    prompted = SentenceTransformerEncoder("embedded:minilm", passage_prompt="passage: ", max_length=64)
    assert (prompted.max_tokens, prompted.count_tokens(["a harbour"])) == (64, [6])
