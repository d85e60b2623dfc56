"""Warm start, GRPO wiring and what watches over a run."""
