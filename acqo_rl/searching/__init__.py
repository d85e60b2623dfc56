"""The search path from a query to a fused ranking: first search, reformulation, search, fusion."""
