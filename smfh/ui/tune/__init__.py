"""The Tune page: how parameters affect the score, by a sweep or a search."""
