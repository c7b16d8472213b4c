"""The Search page: the query, its results, why they match, and the results of other methods."""
