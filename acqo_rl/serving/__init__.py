"""The service: the one path behind HTTP, with limits, metrics and logs, and the server of a shared index."""
