"""Maintenance, one duty a file. Each is a loop over an injected clock that ends with the worker's stop."""
