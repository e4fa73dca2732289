"""Which addresses may be connected to: judged on the resolved address, at the moment of connecting.

Pure judgement only; `perseid.fetch.pool` hangs it into the connector.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

import msgspec

from perseid.errors import ConfigError
from perseid.fetch.address import LOCAL_KINDS, AddressKind, address_kind

SETTING = "PERSEID_FETCH__ALLOW_PRIVATE"
"""The setting that opens private addresses: `true`, or a list of hosts and networks."""

Network = IPv4Network | IPv6Network

BAD_PORTS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
        103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512,
        513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719,
        1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
        6697, 10080,
    }
)  # fmt: skip
"""Ports of mail, chat and other services that no page is served from (WHATWG Fetch, "bad port")."""


class Verdict(NamedTuple):
    """`allowed` to connect; `private` (no throttling is due); `reason` is empty or a sentence for people."""

    allowed: bool
    private: bool
    reason: str = ""


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator opened: all local addresses, or some hosts (by name) and networks."""

    allow_private: bool = False
    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Allowance:
        """Read the setting: `true`, `false`, or a comma-separated list of hosts, addresses and networks.

        Raises `ConfigError` for a network whose host bits are set or that can't be read.
        """
        words = [word.strip().lower() for word in text.split(",") if word.strip()]
        allow_private = any(word in {"true", "yes", "on", "1"} for word in words)
        hosts: set[str] = set()
        networks: list[Network] = []
        for word in words:
            if word in {"true", "yes", "on", "1", "false", "no", "off", "0"}:
                continue
            try:
                networks.append(ip_network(word.strip("[]")))
            except ValueError as error:
                if "/" in word:
                    raise ConfigError(f"{SETTING}: {word!r} is not a network: {error}") from None
                hosts.add(host_name(word))
        return cls(allow_private=allow_private, hosts=frozenset(hosts), networks=tuple(networks))

    def lists(self, text: str) -> bool:
        """The address lies in one of the listed networks."""
        if not self.networks:
            return False
        address = ip_address(text.partition("%")[0])
        return any(address.version == network.version and address in network for network in self.networks)


NOTHING = Allowance()


def host_name(host: str) -> str:
    """A host for comparing: lower case, without brackets, trailing dot and one leading `www.`."""
    return host.strip("[]").rstrip(".").lower().removeprefix("www.")


def judge_address(ip: str, port: int, allowance: Allowance = NOTHING, *, named: bool = False) -> Verdict:
    """May `ip`:`port` be connected to?

    With `named` the user, or the operator's list, named this very host: its local addresses and any port
    are open. A metadata service stays shut even then, unless its address is in a listed network, or is
    what was named (the caller passes it in a listed network): a name may be pointed anywhere by its owner.
    """
    kind = address_kind(ip)
    private = kind in LOCAL_KINDS or kind is AddressKind.METADATA
    if kind is AddressKind.INVALID:
        return Verdict(allowed=False, private=False, reason=f"{ip!r} is not an IP address")
    reason = ""
    if kind in LOCAL_KINDS:
        if not (named or allowance.allow_private):
            reason = f"{ip} is a {kind} address; {SETTING} (true, or a list of hosts and networks) allows it"
    elif kind is not AddressKind.PUBLIC:
        reason = f"{ip} is a {kind} address; {SETTING}={ip} allows it"
    elif port in BAD_PORTS and not named:
        reason = f"port {port} of {ip} is not one that pages are served from; {SETTING}={ip} allows it"
    if reason and allowance.lists(ip):
        reason = ""
    return Verdict(allowed=not reason, private=private, reason=reason)


def judge_for(allowance: Allowance, *, setting: str) -> Callable[[str, str, int], str]:
    """The guard for connections of other rooms: (host, address, port) → why not, by the words of their `setting`."""

    def judge(host: str, ip: str, port: int) -> str:
        named = host_name(host) in allowance.hosts
        verdict = judge_address(ip, port, allowance, named=named)
        return "" if verdict.allowed or (named and ip == host) else verdict.reason.replace(SETTING, setting)

    return judge
