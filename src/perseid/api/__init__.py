"""The HTTP skin: Firecrawl's v1 and v2 as two translations of one core, and Perseid's own resources under /api.

Nothing is decided here that the command line would have to decide as well: see `perseid.runtime.service`.
"""
