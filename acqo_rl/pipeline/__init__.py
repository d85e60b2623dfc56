"""Question answering: the budgeted pipeline with its modes, and rewrite-retrieve-read."""
