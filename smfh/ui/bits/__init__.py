"""The Bits page: the topic of each bit, the map of codes, and the worst and best queries."""
