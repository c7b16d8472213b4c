"""Data: cards, pairs, and what a visitor brings."""
