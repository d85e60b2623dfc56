"""Language models: local (transformers), and behind the protocols of OpenAI and Anthropic."""
