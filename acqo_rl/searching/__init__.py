"""The search path from a query to a fused ranking: first search, choice, reformulation, search, hops, order."""
