"""Question answering: the budgeted pipeline with its modes."""
