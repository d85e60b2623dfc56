"""Models that run in this process, on a tiny one of random weights."""

import pytest
from tiny_policy import adapter_model

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.local import TransformersModel, base_model_of
from acqo_rl.reformulation.policy import Policy
from acqo_rl.training.model import load_trainable


def say(text):
    return [{"role": "system", "content": "Write."}, {"role": "user", "content": text}]


CONVERSATIONS = [say("word " * n) for n in (1, 30, 4, 12, 1, 7)]


@pytest.fixture(scope="module")
def model(tiny_model):
    return TransformersModel.from_pretrained(tiny_model, max_new_tokens=8, batch_size=4)


def test_a_batch_equals_one_by_one(model):
    """Padding and shared prefixes do not change the completions; they are returned in input order."""
    together = model.generate(CONVERSATIONS)
    assert together == [model.generate([c])[0] for c in CONVERSATIONS]
    assert len({c.text for c in together}) > 1


def test_the_same_weights_at_another_temperature(tiny_model, model):
    sampled = TransformersModel.from_pretrained(tiny_model, max_new_tokens=model.max_new_tokens, temperature=1.0)
    greedy = sampled.with_sampling(0.0, None)
    assert greedy.generate(CONVERSATIONS) == model.generate(CONVERSATIONS)
    assert (sampled.temperature, greedy.model is sampled.model) == (1.0, True)


def test_an_adapter_names_its_base(tiny_model, tmp_path):
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "some/base"}')
    with pytest.raises(ConfigError, match=r"adapter_model\.safetensors"):
        base_model_of(str(tmp_path))
    (tmp_path / "adapter_model.safetensors").touch()
    assert base_model_of(str(tmp_path)) == ("some/base", str(tmp_path))
    assert base_model_of(tiny_model) == (tiny_model, None)


@pytest.mark.parametrize(
    "name", ["adapter_model.safetensors", "adapter_config.json", "tokenizer.json", "../base/model.safetensors"]
)
def test_a_policy_with_a_damaged_file_is_refused(tmp_path, name):
    folder = adapter_model(tmp_path)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    for load in (Policy.from_pretrained, lambda path: load_trainable(str(path), 2, 0)):
        with pytest.raises(ConfigError, match="damaged"):
            load(folder)


def test_an_adapter_that_does_not_fit_its_base_model_is_refused(tmp_path):
    config = adapter_model(tmp_path) / "adapter_config.json"
    config.write_text(config.read_text().replace('"r": 4', '"r": 5'))
    with pytest.raises(ConfigError):
        Policy.from_pretrained(config.parent)


def edited(change):
    """Changes the first weights of a policy or of its base model."""

    def edit(file):
        from safetensors.torch import load_file, save_file

        weights = load_file(file)
        save_file(change(weights, min(weights)), file, metadata={"format": "pt"})

    return edit


@pytest.mark.parametrize("name", ["model/adapter_model.safetensors", "base/model.safetensors"])
@pytest.mark.parametrize(
    "damage",
    {
        "NaN": edited(lambda weights, name: weights | {name: weights[name] * float("nan")}),
        "infinite": edited(lambda weights, name: weights | {name: weights[name].fill_(float("inf"))}),
        "missing": edited(lambda weights, name: {n: w for n, w in weights.items() if n != name}),
        "renamed": edited(lambda weights, name: {f"{n}x" if n == name else n: w for n, w in weights.items()}),
        "narrow": edited(lambda weights, name: weights | {name: weights[name][:, :-1].contiguous()}),
    }.values(),
)
def test_weights_that_are_not_finite_or_have_other_names_or_shapes_are_refused(tmp_path, name, damage):
    adapter_model(tmp_path)
    damage(tmp_path / name)
    for load in (TransformersModel.from_pretrained, lambda path: load_trainable(path, 2, 0)):
        with pytest.raises(ConfigError) as refused:
            load(str(tmp_path / "model"))
        assert "\n" not in str(refused.value)


def test_weights_of_another_policy_are_refused(tmp_path):
    weights = adapter_model(tmp_path) / "adapter_model.safetensors"
    edited(lambda some, name: some | {name: some[name] + 1})(weights)
    with pytest.raises(ConfigError, match="checksum"):
        Policy.from_pretrained(weights.parent)
