"""Benchmarks: each is run by a command, `python -m tests.bench.NAME`, and prints ratios to a floor of the same run."""
