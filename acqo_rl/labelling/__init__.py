"""Questions and judgements for a corpus that has none."""
