"""Search: ask, look at the answers, ask why."""
