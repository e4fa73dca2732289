"""What an IP address is for: a pure classification by its literal.

Tables follow the IANA registries of special-purpose IPv4 and IPv6 addresses (RFC 6890); they are kept here
because the standard library's differ between Python releases.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address


class AddressKind(StrEnum):
    """What an address is for; everything but `PUBLIC` is refused unless allowed."""

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    SHARED = "carrier-grade NAT"
    LINK_LOCAL = "link-local"
    METADATA = "cloud metadata"
    MULTICAST = "multicast"
    RESERVED = "reserved"
    INVALID = "invalid"


LOCAL_KINDS = frozenset({AddressKind.LOOPBACK, AddressKind.PRIVATE, AddressKind.SHARED, AddressKind.LINK_LOCAL})
"""Kinds that `allow_private` opens; metadata services must be listed by address."""

_K = AddressKind
_METADATA = {
    "169.254.169.254": "AWS, Azure, Google, OpenStack …",
    "169.254.170.2": "AWS ECS",
    "169.254.170.23": "AWS EKS",
    "169.254.0.23": "Tencent",
    "100.100.100.200": "Alibaba",
    "168.63.129.16": "Azure",
    "192.0.0.192": "Oracle",
    "fd00:ec2::254": "AWS",
    "fd00:ec2::23": "AWS EKS",
    "fd20:ce::254": "Google",
    "fd00:42::42": "Scaleway",
}
_METADATA_ADDRESSES = frozenset(ip_address(text) for text in _METADATA)

# Most specific first: the first network that holds the address decides.
_TABLE_4 = tuple(
    (IPv4Network(text), kind)
    for text, kind in (
        ("0.0.0.0/32", _K.LOOPBACK),  # connecting to it reaches this machine
        ("0.0.0.0/8", _K.RESERVED),
        ("10.0.0.0/8", _K.PRIVATE),
        ("100.64.0.0/10", _K.SHARED),
        ("127.0.0.0/8", _K.LOOPBACK),
        ("169.254.0.0/16", _K.LINK_LOCAL),
        ("172.16.0.0/12", _K.PRIVATE),
        ("192.0.0.0/24", _K.RESERVED),
        ("192.0.2.0/24", _K.RESERVED),
        ("192.88.99.0/24", _K.RESERVED),
        ("192.168.0.0/16", _K.PRIVATE),
        ("198.18.0.0/15", _K.PRIVATE),
        ("198.51.100.0/24", _K.RESERVED),
        ("203.0.113.0/24", _K.RESERVED),
        ("224.0.0.0/4", _K.MULTICAST),
        ("240.0.0.0/4", _K.RESERVED),
    )
)
_TABLE_6 = tuple(
    (IPv6Network(text), kind)
    for text, kind in (
        ("::/128", _K.LOOPBACK),
        ("::1/128", _K.LOOPBACK),
        ("64:ff9b:1::/48", _K.PRIVATE),  # NAT64 for local use, RFC 8215
        ("100::/64", _K.RESERVED),
        ("2001:2::/48", _K.RESERVED),
        ("2001:db8::/32", _K.RESERVED),
        ("2001::/23", _K.RESERVED),
        ("3fff::/20", _K.RESERVED),
        ("5f00::/16", _K.RESERVED),
        ("fc00::/7", _K.PRIVATE),
        ("fe80::/10", _K.LINK_LOCAL),
        ("fec0::/10", _K.PRIVATE),
        ("ff00::/8", _K.MULTICAST),
    )
)
_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
# An IPv4 address lies in the last 32 bits of these.
_EMBEDDING_6 = (
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated, RFC 2765
    IPv6Network("64:ff9b::/96"),  # NAT64, RFC 6052
)
_6TO4 = IPv6Network("2002::/16")
_COMPATIBLE_6 = IPv6Network("::/96")
_TEREDO = IPv6Network("2001::/32")


@lru_cache(maxsize=8192)
def address_kind(text: str) -> AddressKind:
    """What a literal address is for; addresses that carry an IPv4 address inside are judged by that one.

    Anything that isn't a canonical literal (`0x7f.1`, `127.1`, a name) is `INVALID`. Scope ids are ignored.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return AddressKind.INVALID
    return _kind(address)


def _kind(address: Address) -> AddressKind:
    if address in _METADATA_ADDRESSES:
        return AddressKind.METADATA
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _TABLE_4 if address in network), AddressKind.PUBLIC)
    return _embedded_kind(address) or _kind_6(address)


def _kind_6(address: IPv6Address) -> AddressKind:
    fallback = AddressKind.PUBLIC if address in _GLOBAL_UNICAST_6 else AddressKind.RESERVED
    return next((kind for network, kind in _TABLE_6 if address in network), fallback)


def _embedded_kind(address: IPv6Address) -> AddressKind | None:
    """What the IPv4 address inside is for, if there is one."""
    number = int(address)
    if address in _TEREDO:  # server in the clear, client with its bits flipped: RFC 4380, section 4
        return _worst(number >> 64, ~number)
    if address in _COMPATIBLE_6 and number > 1:
        return _worst(number)
    if address in _6TO4:  # RFC 3056; deprecated by RFC 7526
        return _worst(number >> 80)
    if any(address in network for network in _EMBEDDING_6):
        return _kind(IPv4Address(number & 0xFFFFFFFF))
    return None


def _worst(*embedded: int) -> AddressKind:
    """Deprecated tunnels are never public: at best reserved, else what the embedded address is."""
    kinds = [_kind(IPv4Address(number & 0xFFFFFFFF)) for number in embedded]
    return next((kind for kind in kinds if kind is not AddressKind.PUBLIC), AddressKind.RESERVED)
