"""Search engines on the web."""
