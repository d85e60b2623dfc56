"""Questions and judgements for a corpus or a query log that has none."""
