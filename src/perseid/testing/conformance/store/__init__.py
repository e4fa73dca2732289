"""The promises of `perseid.ports.store` and `perseid.ports.inspect`, one test a promise.

A room holds one kind of promise; `suite.store_suite` hands all of them to a backend's test file.
"""
