"""Explore: scores, answers, curves."""
