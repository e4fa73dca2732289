"""What rules name, and operators publish beside them: proxies, identities, limits and block lists. Durations are
seconds.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from perseid.model.rule import Pattern, Rate, ShortSpan, Text

EVERYWHERE = "default"
"""The name of the limits of all sites."""


class _Part(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class ProxyPool(_Part, frozen=True, kw_only=True):
    """Proxies that a site's requests take in turn. One that fails again and again is left alone for a while."""

    proxies: Annotated[
        tuple[Text, ...],
        Meta(
            min_length=1,
            description="http://, https:// or socks5:// addresses; a password is written ${secret:NAME}.",
        ),
    ]
    failures: Annotated[int, Meta(ge=1, le=100, description="In a row, after which one rests.")] = 3
    rest_s: Annotated[ShortSpan, Meta(le=86_400, description="For so long.")] = field(name="rest", default=60.0)


class Identity(_Part, frozen=True, kw_only=True):
    """Who we say we are."""

    user_agent: Annotated[Text | None, Meta(description="Else the operator's.")] = None
    headers: Annotated[dict[str, str], Meta(description="Of each request, below those of the rule.")] = field(
        default_factory=dict
    )


class IdentityPool(_Part, frozen=True, kw_only=True):
    """Identities: a page that is refused to one is asked for by the next."""

    identities: Annotated[tuple[Identity, ...], Meta(min_length=1)]


class SiteLimits(_Part, frozen=True, kw_only=True):
    """Ceilings that no rule lifts: called `default` those of all sites, called as a site those of that one."""

    concurrency: Annotated[int, Meta(ge=1, le=100, description="Requests at once, of each run.")] | None = None
    rate: Annotated[Rate | None, Meta(description="Requests a second to one site.")] = None


class BlockList(_Part, frozen=True, kw_only=True):
    """Where no task of the team goes, whatever its rule says; all lists count."""

    hosts: Annotated[tuple[Text, ...], Meta(description="`*.example.org` covers sub-domains too.")] = ()
    patterns: Annotated[tuple[Pattern, ...], Meta(description="Found anywhere in an address.")] = ()
