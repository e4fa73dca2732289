"""The rule for URLs of callers, and the sentences in which they are refused."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from perseid.api.firecrawl.body.base import PUBLIC, Hosts, reading_of, refuse
from perseid.dom import url as urls
from perseid.links.host import is_ip

UNSUPPORTED_PROTOCOL = "URL uses unsupported protocol"
NO_DOMAIN = "URL must have a valid top-level domain or be an IP address"
INVALID = "Invalid URL"
LONGEST = 8_192
TOO_LONG = f"URL is longer than {LONGEST} characters"

# A colon that a port follows makes no scheme: `localhost:3000` is a host.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
_LAST_LABEL = re.compile(r"\.[^.\s]{2,}\.?$")


def with_scheme(text: str) -> str:
    """`http://` before what has no scheme; the rest stays letter by letter as it was sent."""
    return text if _SCHEME.match(text.lstrip()) else f"http://{text.lstrip()}"


def fault(text: str, hosts: Hosts = PUBLIC) -> str | None:
    """Why a URL can't be asked for; None where it can."""
    if len(text) > LONGEST:
        return TOO_LONG
    whole = with_scheme(text).strip()
    if not whole.lower().startswith(("http://", "https://")):
        return UNSUPPORTED_PROTOCOL
    parts = urls.parse(whole)
    if parts is None or not parts.host:
        return INVALID
    if is_ip(parts.host) or _LAST_LABEL.search(parts.host) or _is_local(parts, hosts):
        return None
    return NO_DOMAIN


def _is_local(parts: urls.Url, hosts: Hosts) -> bool:
    """A word alone is rather a slip than the name of a host: it wants to be known, or to have a port."""
    if parts.host in hosts.named:
        return True
    return hosts.with_port and "." not in parts.host and parts.port != urls.DEFAULT_PORT[parts.scheme]


def _checked(text: str, info: ValidationInfo) -> str:
    problem = fault(text, reading_of(info).hosts)
    if problem is not None:
        raise refuse(problem)
    return text


WebUrl = Annotated[str, AfterValidator(_checked), Field(json_schema_extra={"examples": ["https://example.org/docs/"]})]
"""As it was sent: `with_scheme` makes it one that can be asked for."""
