"""Run a reformulator over a set of queries, compare several, and report."""
