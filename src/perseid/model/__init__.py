"""Frozen values everybody speaks: ids, jobs, crawls, options, verdicts, documents. No behaviour beyond them."""
