"""Small policies with random weights: one token per byte, width 16."""

from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.types import Query

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_tokenizer():
    """A tokenizer with one token per byte and SmolLM2's chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>", padding_side="left"
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def full_model(folder, **settings):
    """The ``model/`` folder of full fine-tuning."""
    return save_policy(random_llama(seed=0), folder / "model", settings)


def adapter_model(folder, tokenizer=None, **settings):
    """The ``model/`` folder of LoRA, on a base model in the folder ``base``."""
    import torch
    from peft import LoraConfig, get_peft_model

    base = random_llama(seed=1, tokenizer=tokenizer)
    base.save_pretrained(folder / "base")
    config = LoraConfig(r=4, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(base, config)
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights)
    model.peft_config["default"].base_model_name_or_path = str(folder / "base")
    return save_policy(model, folder / "model", settings, tokenizer)


def random_llama(seed, layers=2, tokenizer=None, **more):
    """A model with random weights for a tokenizer; by default for that of bytes."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tokenizer or byte_tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=layers,
        num_attention_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **more,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


def tiny_qwen(folder):
    """Writes a random Qwen2 model, the architecture of the recipes for GPUs, as vLLM accepts it; returns the folder."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    prompt = [message["content"] for message in Prompt(len).render(Query("a", "capital of Peru"))]
    tokenizer = byte_tokenizer().train_new_from_iterator(prompt, 800)  # prompts of few tokens
    tokenizer.chat_template = CHAT_TEMPLATE
    size = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer), tie_word_embeddings=True, **size, **heads, **ends))
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def save_policy(model, folder, settings, tokenizer=None):
    """Writes a policy in the form of training."""
    model.save_pretrained(folder)
    (tokenizer or byte_tokenizer()).save_pretrained(folder)
    PolicySettings(**settings).save(folder)
    return folder
