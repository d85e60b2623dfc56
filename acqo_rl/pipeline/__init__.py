"""Question answering: multi-step retrieval, the budgeted pipeline and rewrite-retrieve-read."""
