"""Reads what language models write: thoughts, lists, fields and answers, whatever stands around them."""
