"""The HTTP service of the search path, with limits, metrics and logs, and the server of a shared index."""
