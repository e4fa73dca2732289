"""Every exception Perseid raises on purpose, grouped by what a caller would catch together.

    PerseidError
    ├── ConfigError            a setting, flag or option is wrong
    ├── InvalidURL             a URL that WHATWG URL refuses, or that is not http(s)
    ├── StoreError
    │   ├── StoreUnavailable   the database can't be opened, is locked or the disk is full (retry helps)
    │   ├── StoreCorrupt       the database fails its own checks
    │   ├── KeyUsed            an idempotency key that a crawl was started under before
    │   ├── VersionConflict    somebody else published meanwhile
    │   └── NotFound           no such crawl, job or document
    ├── Busy                   no slot came free in time: the team, the host or the whole store is at its limit
    ├── QuotaExceeded          the team has used up its pages of this period
    ├── SourceFailed           where a seed's addresses come from can't be read
    ├── Unavailable            a back end that was not configured, or that did not answer (LLM, search)
    ├── MissingExtra           a feature needs an optional package; the message holds the install command
    └── ScrapeFailed           a single page ended without a document; carries the failure code

Expected outcomes of crawling (a 404, a refusal by robots.txt, an address out of scope) are values
(`perseid.model.verdict`), never exceptions.
"""

from __future__ import annotations


class PerseidError(Exception):
    """Base of all errors; `code` is stable, `retryable` says whether the same call may succeed later."""

    code = "perseid_error"
    retryable = False


class ConfigError(PerseidError):
    code = "config_error"


class InvalidURL(PerseidError, ValueError):
    code = "invalid_url"


class StoreError(PerseidError):
    code = "store_error"


class StoreUnavailable(StoreError):
    code = "store_unavailable"
    retryable = True


class StoreCorrupt(StoreError):
    code = "store_corrupt"


class KeyUsed(StoreError):
    code = "idempotency_key_used"


class VersionConflict(StoreError):
    code = "version_conflict"


class NotFound(StoreError):
    code = "not_found"


class Busy(PerseidError):
    """`retry_after_s` says when it makes sense to ask again."""

    code = "busy"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class QuotaExceeded(PerseidError):
    """`left` is how many pages could still be had."""

    code = "quota_exceeded"

    def __init__(self, message: str, *, left: int = 0) -> None:
        super().__init__(message)
        self.left = left


class Unavailable(PerseidError):
    """`retryable` where the back end exists and had trouble, not where none is configured."""

    code = "unavailable"

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class SourceFailed(PerseidError):
    """`retryable` where it may be there again soon: a database that can't be reached, not a query that it refuses."""

    code = "source_failed"

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class MissingExtra(PerseidError):
    code = "missing_extra"


class ScrapeFailed(PerseidError):
    """A page that ended without a document: `failure` is its code (`timeout`, `http_404`, `robots_txt` …)."""

    code = "scrape_failed"

    def __init__(self, url: str, failure: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(f"{url}: {message} ({failure})")
        self.url = url
        self.failure = failure
        self.reason = message
        self.retryable = retryable
