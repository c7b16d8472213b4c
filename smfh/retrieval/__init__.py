"""Search with a trained hasher: evaluation, single queries, and analysis of its bits and codes."""
