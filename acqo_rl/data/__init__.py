"""Data sets: BEIR folders, and the embedded set that is generated from facts in PyPI packages."""
