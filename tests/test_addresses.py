"""No rendering of an address contains a password or a key."""

import copy
import json
import pickle
from dataclasses import asdict, dataclass

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.addresses import Address, hide, masked
from acqo_rl.errors import AcqoError
from acqo_rl.retrieval.engines.location import read_location
from acqo_rl.retrieval.places import parts_of
from acqo_rl.searching.names import name_indexes

SECRETS = [
    "s3cret",
    "p@s3cret",
    "a/s3cret",
    "a?s3cret",
    "12#s3cret",
    "12/s3cret",
    "s3cret:x",
    "p%s3cret",
    "with s3cret space",
]
FORMS = [
    "postgresql://me:{}@host:1/db/t?mode=text",
    "postgresql://host/db/t?sslmode=require&password={}",
    "postgresql://host/db/t?p%61ssword={}",
    "postgresql://host/db/t?password=a&b{}",
    "https://h/x#token={}",
    "http://me:{}@host:8100",
    "https://h/x?api_key={}",
    "indexes/dense+http://me:{}@host",
    "wiki=data/wiki,indexes/dense,postgresql://me:{}@host/db/t@original",
    "rerank:a/b@https://me:{}@host/v1",
    "http+json:a.yaml?encoder=openai:m@http://me:{}@host/v1",
]


@dataclass
class Settings:
    index: Address


RENDERINGS = {
    "str": str,
    "repr": repr,
    "f-string": lambda address: f"{address} {address!r:>50}",
    "percent": lambda address: "%s" % address,  # noqa: UP031
    "json": lambda address: json.dumps({"a": [address]}),
    "yaml": lambda address: yaml.safe_dump({"a": [address]}) + yaml.dump(address),
    "asdict": lambda address: json.dumps(asdict(Settings(address))),
    "repr of a dataclass": lambda address: repr(Settings(address)),
    "copy": lambda address: f"{copy.copy(address)}{copy.deepcopy(address)}",
    "pickle": lambda address: str(pickle.dumps(address)),
    "error": lambda address: f"{AcqoError(address)}",
    "join": lambda address: " ".join([address]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", SECRETS)
def test_no_rendering_has_the_secret(form, secret):
    text = form.format(secret)
    address = Address(text)

    assert [name for name, render in RENDERINGS.items() if "s3cret" in render(address)] == []
    assert address.whole() == Address(address).whole() == text


@pytest.mark.parametrize(
    "text",
    ["indexes/mine", "http://[::1]:80/x", "http+json:a/b.yaml?timeout=5", "postgresql://me@h/db/t", "openai:@cf/m",
     "http://h:8100@original,indexes/bm25", "http://h:8100+indexes/bm25", "openai:m@http://h:1/v1", "trained:demo"],
)  # fmt: skip
def test_an_address_without_secrets_is_unchanged(text):
    assert Address(text) == text == Address(text).whole()


@given(st.text(), st.sampled_from(FORMS), st.text(alphabet="aB1:@/+?%", min_size=1))
def test_masking_again_changes_nothing(before, form, secret):
    once = masked(before + form.format(secret))

    assert masked(once) == once


@pytest.mark.parametrize("form", [form for form in FORMS if "@original" not in form])
def test_a_message_has_no_secret_of_a_url_in_it(form):
    url = form.format("p@s3cret")

    hide("k3y-of-a-server")
    message = str(AcqoError(f"Client error '404' for url '{url}'; invalid key k3y-of-a-server."))
    assert "s3cret" not in message and "k3y" not in message


def test_parts_of_an_address_keep_their_secrets():
    one = "http://me:a+b@host:1"
    other = "postgresql://me:s3cret@host/db/t?mode=text"

    assert [part.whole() for part in parts_of(f"{one}+{other}")] == [one, other]
    assert [part.whole() for part in name_indexes([Address(f"x={one}+{other}")])["x"]] == [one, other]
    both = parts_of(Address("postgresql://me:s3cret@host/db/t?mode=hybrid"))
    assert [read_location(part).place for part in both] == ["me:s3cret@host/db"] * 2


@pytest.mark.parametrize("address", ["postgresql://me%3As3cret@host/db/t", "http://s3cret@host/t"])
def test_a_user_that_may_be_a_secret_is_masked(address):
    assert "s3cret" not in str(Address(address))
    assert "s3cret" in Address(address).whole()


def test_an_address_without_a_scheme_has_no_password():
    assert str(Address("me:s3cret@host:8100")) == "me:***@host:8100"
