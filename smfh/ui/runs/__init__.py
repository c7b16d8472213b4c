"""Runs: what was trained, to open, name, delete, take along and bring back."""
