"""Why a URL is not followed: the closed set of reasons, and a sentence for people for each.

Also the closed set of failure codes. Both are values: nothing here is raised.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class DenialReason(StrEnum):
    """In the order in which they are judged; the first that applies decides."""

    URL_PARSE_ERROR = "URL_PARSE_ERROR"
    NON_WEB_PROTOCOL = "NON_WEB_PROTOCOL"
    SECTION_LINK = "SECTION_LINK"
    BLOCKED_HOST = "BLOCKED_HOST"
    SOCIAL_MEDIA = "SOCIAL_MEDIA"
    DISCOVERY_DEPTH = "DISCOVERY_DEPTH"
    DEPTH_LIMIT = "DEPTH_LIMIT"
    FILE_TYPE = "FILE_TYPE"
    EXTERNAL_LINK = "EXTERNAL_LINK"
    BACKWARD_CRAWLING = "BACKWARD_CRAWLING"
    EXCLUDE_PATTERN = "EXCLUDE_PATTERN"
    INCLUDE_PATTERN = "INCLUDE_PATTERN"
    ROBOTS_TXT = "ROBOTS_TXT"
    TRAP = "TRAP"
    LIMIT_REACHED = "LIMIT_REACHED"


_SENTENCES: dict[DenialReason, str] = {
    DenialReason.URL_PARSE_ERROR: "This is not a URL a browser could open: {value}.",
    DenialReason.NON_WEB_PROTOCOL: "Only http and https pages are crawled; this link uses {value}.",
    DenialReason.SECTION_LINK: "The link points to a section ({value}) of the page it stands on.",
    DenialReason.BLOCKED_HOST: "The host {value} is on the block list (entry {rule}).",
    DenialReason.SOCIAL_MEDIA: "{value} is a social network (list entry {rule}); those are not crawled.",
    DenialReason.DISCOVERY_DEPTH: "The link is {value} steps from the start page; the crawl allows {rule}.",
    DenialReason.DEPTH_LIMIT: "The path has {value} segments; the crawl allows {rule}.",
    DenialReason.FILE_TYPE: "Files of type {value} hold no page text and are not fetched.",
    DenialReason.EXTERNAL_LINK: "The host {value} lies outside the crawl of {rule}; external links are off.",
    DenialReason.BACKWARD_CRAWLING: (
        "The path {value} lies outside the start path {rule}; allow the entire domain to include it."
    ),
    DenialReason.EXCLUDE_PATTERN: "The exclude pattern {rule} matches {value}.",
    DenialReason.INCLUDE_PATTERN: "None of the include patterns ({rule}) matches {value}.",
    DenialReason.ROBOTS_TXT: "robots.txt of the site forbids it to our agent (rule {rule}).",
    DenialReason.TRAP: "The URL looks like an endless series ({rule}: {value}).",
    DenialReason.LIMIT_REACHED: "The crawl's limit of {rule} was already reached.",
}


class Denial(NamedTuple):
    """One refusal: `rule` is the deciding rule or limit as configured, `value` what it was held against."""

    reason: DenialReason
    rule: str = ""
    value: str = ""

    @property
    def message(self) -> str:
        """The sentence for people."""
        return _SENTENCES[self.reason].format(rule=self.rule or "unnamed", value=self.value or "it")


class Denied(NamedTuple):
    """A refused link as it was found: `url` is absolute where it could be resolved, else as written."""

    url: str
    key: int
    denial: Denial


class Candidate(NamedTuple):
    """An accepted link: the URL as found (absolute), its key in this crawl, and its politeness host."""

    url: str
    key: int
    host: str


class Judged(NamedTuple):
    """Verdicts on a batch of links.

    With `cut`, the discovery depth is used up: `accepted` holds the links that would be followed from a
    page nearer to the start, and the store decides with the depth it knows (it may have become shorter).
    """

    accepted: list[Candidate]
    denied: list[Denied]
    cut: bool = False


class FailureCode(StrEnum):
    """How a page failed; `http_nnn` stands beside these for answers of status 400 and above."""

    TIMEOUT = "timeout"
    CONNECTION = "connection_error"
    DNS = "dns_error"
    TLS = "tls_error"
    TRUNCATED = "truncated_body"
    TOO_LARGE = "body_too_large"
    REDIRECT_LOOP = "redirect_loop"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    BAD_RESPONSE = "bad_response"
    BLOCKED_ADDRESS = "blocked_address"
    PROXY = "proxy_error"
    UNSUPPORTED_FILE = "unsupported_file"
    CONVERSION = "conversion_error"
    RATE_LIMITED = "rate_limited"
    HOST_DOWN = "host_down"
    STALLED = "stalled"
    STORE_ERROR = "store_error"
    DEADLINE = "crawl_deadline"
    FEATURE_UNAVAILABLE = "feature_unavailable"
    LOGIN = "login_failed"
    """A site's login, or what it begins with, did not go as its rule says."""
    NO_RULE = "no_rule"
    """Nobody has published a rule for the site."""
    SOURCE = "source_failed"
    """Where a seed's addresses come from can't be read."""
    NOT_CACHED = "not_cached"
    """Only a kept answer would do, and there is none."""
    LLM = "llm_error"
    INTERNAL = "internal_error"
