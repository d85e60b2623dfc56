"""Parses replies of language models: thoughts, lists, fields and answers, in any formatting."""
