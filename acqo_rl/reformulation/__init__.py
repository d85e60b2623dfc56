"""Reformulators: rewrite queries into sub-queries."""
