"""Models of random weights, so small that writing them takes no time."""


def write_cross_encoder(folder, labels=1):
    """Writes a cross-encoder that reads letters; returns the folder as text."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    torch.manual_seed(0)
    BertForSequenceClassification(BertConfig(vocab_size=len(words), num_labels=labels, **small)).save_pretrained(folder)
    return str(folder)
