"""What is built from the roles: the adaptive searcher, multi-step retrieval and the budgeted pipeline."""
