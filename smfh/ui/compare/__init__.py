"""Compare: what to compare, how to look at it, what to take home."""
