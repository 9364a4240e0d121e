"""Tests of the pure engine, a file for each of its modules."""
