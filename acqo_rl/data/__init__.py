"""Data sets: BEIR folders, importers, and the embedded data set generated from facts in PyPI packages."""
