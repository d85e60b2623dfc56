"""A small data set for training: capitals and currencies of six countries."""

import math

import pytest
import torch
from shared import PLACES
from tiny_policy import byte_tokenizer, full_model, random_llama, save_policy

from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A BEIR folder with a train and a dev split."""
    folder = tmp_path_factory.mktemp("world") / "data"
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency of {p} is printed by its own bank.") for p in PLACES]
    queries = []
    train = {}
    dev = {}
    places = list(PLACES)
    for i, (place, other) in enumerate(zip(places, places[1:] + places[:1], strict=True)):
        split = train if i < 4 else dev
        queries.append(Query(f"s-{place}", f"capital of {place}"))
        queries.append(Query(f"c-{place}", f"capital of {place} and currency of {other}"))
        split[f"s-{place}"] = {f"{place}-capital": 1}
        split[f"c-{place}"] = {f"{place}-capital": 1, f"{other}-money": 1}
    write_beir(folder, documents, queries, {"train": train, "dev": dev})
    return folder


@pytest.fixture(scope="session")
def index(data):
    """A BM25 index of the data set."""
    folder = data.parent / "index"
    build_bm25_index(folder, list(read_corpus(data).values()))
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Folder of a policy with random weights."""
    return str(full_model(tmp_path_factory.mktemp("tiny"), max_new_tokens=8))


@pytest.fixture(scope="session")
def passing(tmp_path_factory):
    """Folder of a policy with hand-made weights, which depends only on its last token.

    After a line break it writes "pass" with probability 0.8 and otherwise "r"; then it ends. With greedy decoding it
    always passes. With sampling, some completions of a group are outside the grammar: "r" begins a route, but the token
    limit is too low for it.
    """
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["pass"])
    line_end = tokenizer("\n")["input_ids"][0]
    word = tokenizer.convert_tokens_to_ids("pass")
    model = random_llama(0, tokenizer=tokenizer, tie_word_embeddings=False).float()
    scale = 16**0.5  # length of a unit vector after normalisation
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.zero_()
        model.lm_head.weight.zero_()
        model.model.embed_tokens.weight[:, 1] = 1.0
        model.model.embed_tokens.weight[line_end] = torch.eye(16)[0]
        model.lm_head.weight[word, 0] = 9.0 / scale
        model.lm_head.weight[tokenizer("r")["input_ids"][0], 0] = (9.0 - math.log(4)) / scale
        model.lm_head.weight[tokenizer.eos_token_id, 1] = 20.0 / scale
    folder = tmp_path_factory.mktemp("passing") / "model"
    return str(save_policy(model, folder, {"max_new_tokens": 4}, tokenizer))
