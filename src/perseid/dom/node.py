"""What every parser backend offers: the once-parsed page that all steps share.

Nodes are the backend's own objects, passed through without a wrapper: a page has thousands of them and a
wrapper each would cost more than parsing. Only the tree that handed a node out can answer about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Node: TypeAlias = Any
"""An opaque, hashable node; equal nodes are the same node of the same tree."""

Backend: TypeAlias = Literal["turbohtml", "lexbor"]

TEXT = "#text"
OTHER = "#other"
"""Tags of what is no element: text, and comments, doctypes and the like."""


class Flat:
    """A subtree as parallel lists in document order, one entry per element; index 0 is the subtree's root.

    `parents[i] < i` (-1 for the root) and `ends[i]` is one past the last descendant, so that
    `range(i + 1, ends[i])` are the descendants of `i` and sums over subtrees are one reverse loop.
    """

    __slots__ = ("ends", "marks", "nodes", "parents", "run_at", "run_text", "tags")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.tags: list[str] = []
        self.parents: list[int] = []
        self.ends: list[int] = []
        self.marks: list[str] = []
        """`class id role`, lower-cased, of block-level elements; inline ones have their role at most."""
        self.run_at: list[int] = []
        """For each run of text that is not blank, in document order, the element it stands in directly."""
        self.run_text: list[str] = []
        """The runs themselves, without outer white space."""

    def close(self) -> None:
        """Fill `ends`; backends call it once at the end."""
        n = len(self.parents)
        ends = list(range(1, n + 1))
        parents = self.parents
        for i in range(n - 1, 0, -1):
            ends[parents[i]] = max(ends[parents[i]], ends[i])
        self.ends = ends


_INLINE = (
    "a abbr b bdi bdo br cite code del dfn em font i img ins kbd mark meta link script style path g svg "
    "q s samp small source strong sub sup time tt u var wbr option head title html td tr tbody thead col "
    "rect circle use span label picture"
)
UNMARKED = frozenset(_INLINE.split())
"""Elements whose class, id and role say nothing about page layout and are not read by `flatten`."""


class Tree(ABC):
    """The parsed page. Its methods are total: asking for what a node lacks gives an empty answer."""

    backend: Backend
    native: Any
    """The backend's document, for steps that have a faster way on one backend."""

    @property
    @abstractmethod
    def root(self) -> Node:
        """The `html` element; every parse has one."""

    @property
    @abstractmethod
    def body(self) -> Node:
        """The `body` element, or the root where there is none (framesets)."""

    @abstractmethod
    def select(self, css: str, within: Node | None = None) -> list[Node]:
        """Descendants of `within` (default: the whole page) that match, in document order.

        Raises ValueError on a malformed selector.
        """

    @abstractmethod
    def first(self, css: str, within: Node | None = None) -> Node | None:
        """The first match of `select`, or None."""

    @abstractmethod
    def by_tag(self, tags: frozenset[str], within: Node | None = None) -> dict[str, list[Node]]:
        """The descendants of `within` (default: the whole page) with these lower-case tags, each in document order.

        One walk for all: cheaper than several selectors or one with alternatives. What is absent has no key.
        """

    @abstractmethod
    def tag(self, node: Node) -> str:
        """Lower-case element name, "#text" for text, "#other" for comments and the like."""

    @abstractmethod
    def attr(self, node: Node, name: str) -> str | None:
        """The value of attribute `name` (lower-case); "" where it stands without value, None where absent."""

    @abstractmethod
    def values(self, nodes: Iterable[Node], name: str) -> list[str | None]:
        """The answer of `attr` for each of these elements."""

    @abstractmethod
    def attrs(self, node: Node) -> dict[str, str]:
        """All attributes, names lower-cased, values as written (`class` is one string)."""

    @abstractmethod
    def data(self, node: Node) -> str:
        """The characters of a text node; "" for anything else."""

    @abstractmethod
    def text(self, node: Node) -> str:
        """All text below `node` joined as the DOM's textContent does (scripts included)."""

    @abstractmethod
    def parent(self, node: Node) -> Node | None:
        """The parent element, None for the root and for detached nodes."""

    @abstractmethod
    def children(self, node: Node) -> list[Node]:
        """Child nodes in order, text and comments included."""

    @abstractmethod
    def elements(self, node: Node) -> list[Node]:
        """Child elements in order."""

    @abstractmethod
    def walk(self, node: Node) -> Iterator[Node]:
        """All descendants in document order, text and comments included; don't change the tree meanwhile."""

    @abstractmethod
    def outer_html(self, node: Node) -> str: ...

    @abstractmethod
    def inner_html(self, node: Node) -> str: ...

    @abstractmethod
    def remove(self, node: Node) -> None:
        """Detach `node` with all below it; handles to it stay valid."""

    @abstractmethod
    def unwrap(self, node: Node) -> None:
        """Put the children in the place of `node`."""

    @abstractmethod
    def set_attr(self, node: Node, name: str, value: str | None) -> None:
        """Set an attribute; None deletes it."""

    @abstractmethod
    def replace_with_text(self, node: Node, text: str) -> None:
        """Put a text node in the place of `node`."""

    @abstractmethod
    def break_before(self, node: Node) -> None:
        """Put a `br` element before `node`."""

    @abstractmethod
    def flatten(self, node: Node | None = None) -> Flat:
        """The subtree of `node` (default: body) as parallel lists, for scorers."""
