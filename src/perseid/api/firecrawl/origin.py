"""Under which address a caller reaches us, for the URLs that answers hold."""

from __future__ import annotations

import re

from starlette.requests import HTTPConnection

from perseid.config.settings import ApiSettings

_HOST = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
_SECURE = {"https": "https", "http": "http", "wss": "https", "ws": "http"}


def base_url(request: HTTPConnection, settings: ApiSettings) -> str:
    """Scheme and host without a closing slash. Proxies are believed as far as the operator says."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    scheme = _SECURE.get(request.url.scheme, "http")
    host = request.headers.get("host", "")
    if settings.trust_proxy:
        scheme = _SECURE.get(_told(request, "x-forwarded-proto", settings.trust_proxy), scheme)
        host = _told(request, "x-forwarded-host", settings.trust_proxy) or host
    if not _HOST.fullmatch(host):
        host = f"{settings.host}:{settings.port}"
    return f"{scheme}://{host}"


def _told(request: HTTPConnection, header: str, proxies: int) -> str:
    """What the outermost proxy that we trust has written; whatever stands before that, a client may have."""
    values = [value.strip() for line in request.headers.getlist(header) for value in line.split(",") if value.strip()]
    return values[max(len(values) - proxies, 0)] if values else ""
