"""The Tune page: parameters → score, by a sweep or a search."""
