"""Answers: a pipeline with a limit of model calls; a mode fixes its steps."""
