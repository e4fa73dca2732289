"""What each kind of object looks like, what it may name, and in which folder its files lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from perseid.model.pool import BlockList, IdentityPool, ProxyPool, SiteLimits
from perseid.ports.configs import ConfigKind
from perseid.ports.sink import SinkSpec
from perseid.publishing import seed_template
from perseid.publishing.seed_template import SeedTemplate
from perseid.rules import pools
from perseid.rules.complaint import nearest


class Targets(NamedTuple):
    """What the operator has named in the settings, for sinks and sources to go by."""

    connections: frozenset[str]
    folders: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return self.connections | self.folders


class Shape(NamedTuple):
    """`faults` tells what makes no sense: (path, sentence)."""

    type: type[msgspec.Struct]
    faults: Callable[[Any, Targets | None], Iterable[tuple[str, str]]]


FOLDERS = {
    ConfigKind.RULE: "rules",
    ConfigKind.PROXY_POOL: "proxy_pools",
    ConfigKind.IDENTITY_POOL: "identity_pools",
    ConfigKind.LIMITS: "limits",
    ConfigKind.BLOCK_LIST: "block_lists",
    ConfigKind.SEED_TEMPLATE: "seed_templates",
    ConfigKind.SINK: "sinks",
}


def shape_of(kind: ConfigKind) -> Shape:
    """Of every kind but rules, which are read by `perseid.rules.loading`."""
    return _SHAPES[kind]


def references(kind: ConfigKind, value: Any) -> Iterator[tuple[str, ConfigKind, str]]:
    """The other objects that one names: where, of which kind, by which name."""
    if kind is not ConfigKind.RULE:
        return
    for sink in value.sinks:
        yield "sinks", ConfigKind.SINK, sink
    if value.fetch.proxies:
        yield "fetch.proxies", ConfigKind.PROXY_POOL, value.fetch.proxies
    if value.fetch.identities:
        yield "fetch.identities", ConfigKind.IDENTITY_POOL, value.fetch.identities


def _of_pool(value: Any, _targets: Targets | None) -> Iterator[tuple[str, str]]:
    return pools.faults(value)


def _of_sink(value: SinkSpec, targets: Targets | None) -> Iterator[tuple[str, str]]:
    if targets is not None and value.connection not in targets.names:
        known = ", ".join(sorted(targets.names)) or "none"
        hint = nearest(value.connection, targets.names)
        said = f"no connection or folder is called {value.connection!r}; the operator has defined {known}.{hint}"
        yield "connection", said.removesuffix(".")


_SHAPES: dict[ConfigKind, Shape] = {
    ConfigKind.PROXY_POOL: Shape(ProxyPool, _of_pool),
    ConfigKind.IDENTITY_POOL: Shape(IdentityPool, _of_pool),
    ConfigKind.LIMITS: Shape(SiteLimits, _of_pool),
    ConfigKind.BLOCK_LIST: Shape(BlockList, _of_pool),
    ConfigKind.SEED_TEMPLATE: Shape(SeedTemplate, lambda value, _targets: seed_template.faults(value)),
    ConfigKind.SINK: Shape(SinkSpec, _of_sink),
}
