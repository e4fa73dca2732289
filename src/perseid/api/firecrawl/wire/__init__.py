"""From what the core brings home to what callers get back. Pure; no model of pydantic on the way of a page."""
