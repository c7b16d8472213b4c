"""The Learn page: the idea, one iteration step by step, a replay of a run, lessons, symbols."""
