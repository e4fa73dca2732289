"""The Firecrawl API, versions 1 and 2, as two thin translations of one core.

`body` is what callers send, `translate` makes options of it, `wire` is what they get back, `routes` joins
the three to the service. What differs between the versions is the value of `dialect`.
"""
