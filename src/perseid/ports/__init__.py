"""Protocols only, split by who calls: what the use cases and the worker need of the outside world."""
