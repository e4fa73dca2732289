"""Suites that every implementation of a port passes: a new one's test file is one call to its suite."""
