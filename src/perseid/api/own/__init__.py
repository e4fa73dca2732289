"""Perseid's own resources under /api: what the console and operators ask. JSON in camel case, problems by RFC 9457."""
