"""Logs as JSON lines with fixed event names."""
