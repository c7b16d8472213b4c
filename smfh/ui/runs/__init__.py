"""The Runs page: saved runs, models from files, and progress of training on clusters and shards."""
