"""Searching more than once, and looking at the results in between."""
