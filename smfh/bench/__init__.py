"""Benchmarks: ratios to named alternatives, such as faiss and NumPy, measured in the same run."""
