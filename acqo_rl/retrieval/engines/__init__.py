"""Search engines as indexes: one file for each engine, and the parts that all of them share."""
