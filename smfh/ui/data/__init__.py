"""The Data page: cards of data sets, their items, and uploads."""
