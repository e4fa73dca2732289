"""Shipped fakes: a scriptable web site, a clock. May import everything; nothing in src imports it."""
