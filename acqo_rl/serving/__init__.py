"""The HTTP service of searches and answers, with limits, metrics and logs. A second application serves an index."""
