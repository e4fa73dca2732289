"""What an analyst says about one site: which pages hold items, how their fields are read, how to fetch politely.

These are the full forms. The short ones that a rule file may use (`title: h1`) are written out by
`perseid.rules.shorthand` before anything here is built. Durations are seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec import field as member

PageKind: TypeAlias = Literal["list", "detail"]
FieldType: TypeAlias = Literal[
    "text", "lines", "number", "integer", "price", "date", "datetime", "url", "boolean", "html", "json", "object"
]
DateOrder: TypeAlias = Literal["dmy", "mdy", "ymd"]
Browser: TypeAlias = Literal["never", "auto", "always"]
KeyKind: TypeAlias = Literal["url", "fields", "content"]

_DURATION = "Seconds, or a text such as 500ms, 10s, 5m, 2h, 7d."
LONGEST_S = 315_360_000
"""Ten years: instants that lie so far ahead are still whole numbers of 64 bits as µs, in each store."""
Seconds = Annotated[float, Meta(ge=0, le=LONGEST_S, extra={"duration": True}, description=_DURATION)]
ShortSpan = Annotated[float, Meta(gt=0, extra={"duration": True}, description=_DURATION)]
"""For those with a bound of their own."""
Span = Annotated[float, Meta(gt=0, le=LONGEST_S, extra={"duration": True}, description=_DURATION)]
Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Currency = Annotated[str, Meta(pattern="^[A-Z]{3}$")]
Pattern = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        extra={"pattern": True},
        description="A regular expression, found anywhere in the text; bounded in time.",
    ),
]
Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$",
        description="Letters, digits, `_`, `.` and `-`; a letter or digit first; at most 100.",
    ),
]
FieldName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$",
        description="A name of a column: letters, digits and `_`, no digit first; at most 63.",
    ),
]


class _Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all parts of a rule: what isn't said isn't written."""


class Source(_Part, frozen=True, kw_only=True):
    """Where a value comes from.

    One of `css`, `xpath`, `jsonld`, `microdata`, `opengraph`, `meta`, `header`, `url` and `const` chooses; `jsonpath`
    and `regex` choose in the body by themselves, or go on with what another one chose.
    """

    css: Annotated[Text | None, Meta(description="A CSS selector.")] = None
    xpath: Annotated[
        Text | None, Meta(description="An XPath expression; its result may be nodes, text or a number.")
    ] = None
    jsonpath: Annotated[
        Text | None, Meta(description="JSONPath (RFC 9535) in a JSON body, or in the JSON text that was chosen before.")
    ] = None
    regex: Annotated[
        Pattern | None, Meta(description="In the page's source, or in each of the texts that were chosen before.")
    ] = None
    group: Annotated[
        int | str | None, Meta(description="Which group of `regex`; the first one by default, or all of the match.")
    ] = None
    jsonld: Annotated[Text | None, Meta(description="A path in the page's JSON-LD: `offers.price`.")] = None
    microdata: Annotated[Text | None, Meta(description="A path in the page's microdata: `offers.price`.")] = None
    kind: Annotated[
        Text | None, Meta(description="The schema.org type that `jsonld` or `microdata` looks in: `Product`.")
    ] = None
    opengraph: Annotated[Text | None, Meta(description="An Open Graph property: `title` or `og:title`.")] = None
    meta: Annotated[Text | None, Meta(description="The content of the meta element of that name or property.")] = None
    header: Annotated[Text | None, Meta(description="A header of the response.")] = None
    url: Annotated[bool, Meta(description="The page's own address; with `regex`, a part of it.")] = False
    const: Annotated[str | int | float | bool | None, Meta(description="Always this value.")] = None
    attr: Annotated[Text | None, Meta(description="This attribute of the chosen elements instead of their text.")] = (
        None
    )
    take: Annotated[
        Literal["text", "own_text", "html", "inner_html"],
        Meta(description="What of a chosen element: its text, its text without that of its children, or its HTML."),
    ] = "text"


class Step(_Part, frozen=True, kw_only=True):
    """One thing done to the text before it is read as its type; exactly one key."""

    remove: Annotated[Pattern | None, Meta(description="Take away all that matches.")] = None
    replace: Annotated[
        tuple[Pattern, str] | None, Meta(description="All that matches becomes the second text; `\\1` is a group.")
    ] = None
    keep: Annotated[
        Pattern | None, Meta(description="Only the first match, or its first group; without one, nothing.")
    ] = None
    before: Annotated[Text | None, Meta(description="Only what stands before this text, where it stands.")] = None
    after: Annotated[Text | None, Meta(description="Only what stands after this text, where it stands.")] = None
    split: Annotated[Text | None, Meta(description="Cut into several values at this text; for fields with `many`.")] = (
        None
    )
    prefix: Annotated[Text | None, Meta(description="Put this before it.")] = None
    suffix: Annotated[Text | None, Meta(description="Put this after it.")] = None
    case: Annotated[Literal["lower", "upper", "title"] | None, Meta(description="Letters made small or large.")] = None
    map: Annotated[dict[str, str] | None, Meta(description="Whole texts and what they become; others stay.")] = None


class Check(_Part, frozen=True, kw_only=True):
    """What a value must satisfy; of a list, each of its members, save for `min_items` and `max_items`."""

    pattern: Annotated[Pattern | None, Meta(description="The text must match it somewhere.")] = None
    min_length: Annotated[Count | None, Meta(description="Characters.")] = None
    max_length: Annotated[Count | None, Meta(description="Characters.")] = None
    min: Annotated[float | str | None, Meta(description="The least number, amount or date (ISO).")] = None
    max: Annotated[float | str | None, Meta(description="The greatest number, amount or date (ISO).")] = None
    one_of: Annotated[tuple[str | int | float | bool, ...], Meta(description="Only these.")] = ()
    none_of: Annotated[tuple[str | int | float | bool, ...], Meta(description="None of these.")] = ()
    min_items: Annotated[Count | None, Meta(description="Members of a list.")] = None
    max_items: Annotated[Count | None, Meta(description="Members of a list.")] = None


class Field(_Part, frozen=True, kw_only=True):
    """One field of an item: its sources in order, the first that yields something counts."""

    from_: Annotated[
        tuple[Source, ...], Meta(description="Sources; later ones only where earlier ones yield nothing.")
    ] = member(name="from", default=())
    type: Annotated[FieldType, Meta(description="What the text is read as.")] = "text"
    many: Annotated[bool, Meta(description="All matches as a list; else the first one.")] = False
    required: Annotated[
        bool, Meta(description="A core field: an item without it is kept out of the sinks, in the exception queue.")
    ] = False
    steps: Annotated[tuple[Step, ...], Meta(description="Done to the text first, in order.")] = ()
    default: Annotated[Any, Meta(description="The value where no source yields any.")] = None
    check: Annotated[Check | None, Meta(description="What the value must satisfy.")] = None
    fields: Annotated[
        dict[FieldName, Field], Meta(description="Fields of an object, read within what `from` chose.")
    ] = member(default_factory=dict)
    language: Annotated[
        Text | None,
        Meta(description="Of dates, numbers and booleans: `de`, `pt-BR`; else the rule's, else the page's."),
    ] = None
    timezone: Annotated[Text | None, Meta(description="Of dates that name none: `Europe/Berlin`; else the rule's.")] = (
        None
    )
    order: Annotated[DateOrder | None, Meta(description="How 3/4/2025 is read; else as the language has it.")] = None
    formats: Annotated[
        tuple[Text, ...], Meta(description="Formats of dates (strptime) that are tried before all else.")
    ] = ()
    decimal: Annotated[
        Literal[".", ","] | None, Meta(description="The decimal separator; else as the language or the text has it.")
    ] = None
    currency: Annotated[
        Currency | None, Meta(description="ISO code of prices that name none, or by an unclear sign ($).")
    ] = None
    yes: Annotated[tuple[Text, ...], Meta(description="Further texts that are true.")] = ()
    no: Annotated[tuple[Text, ...], Meta(description="Further texts that are false.")] = ()
    description: Annotated[str, Meta(description="For people.")] = ""


class UniqueKey(_Part, frozen=True, kw_only=True):
    """What makes an item this item: later versions with the same key replace it."""

    by: Annotated[KeyKind, Meta(description="The page's address, some fields, or the hash of all fields.")] = "url"
    fields: Annotated[tuple[FieldName, ...], Meta(description="With `by: fields`, which.")] = ()


class Follow(_Part, frozen=True, kw_only=True):
    """Links to further pages of the same site."""

    from_: Annotated[
        tuple[Source, ...], Meta(min_length=1, description="Sources of addresses; all that yield something.")
    ] = member(name="from")
    to: Annotated[PageKind, Meta(description="What kind of page they lead to.")] = "detail"
    on: Annotated[tuple[PageKind, ...], Meta(description="On which kind of page they are looked for.")] = ("list",)
    match: Annotated[tuple[Pattern, ...], Meta(description="Only addresses that match one of these.")] = ()
    exclude: Annotated[tuple[Pattern, ...], Meta(description="No addresses that match one of these.")] = ()
    limit: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="At most so many a page.")] = None


class NextPage(_Part, frozen=True, kw_only=True):
    """How a list goes on: by a link, by counting up a parameter of the address, or found by itself."""

    from_: Annotated[tuple[Source, ...], Meta(description="Sources of the next page's address, in order.")] = member(
        name="from", default=()
    )
    parameter: Annotated[Text | None, Meta(description="A parameter of the address that counts pages or items.")] = None
    start: Annotated[int, Meta(ge=0, description="The parameter's value on the first page.")] = 1
    step: Annotated[int, Meta(ge=1, description="By how much it grows.")] = 1
    auto: Annotated[bool, Meta(description='Look for rel="next" and links that say so.')] = False
    limit: Annotated[int, Meta(ge=1, le=1_000_000, description="At most so many pages of one list.")] = 100


class Rate(_Part, frozen=True, kw_only=True):
    """A token bucket of the site, below the host's and the global one."""

    per_s: Annotated[float, Meta(ge=0.000_001, le=1000, description="Requests a second.")]
    burst: Annotated[int, Meta(ge=1, le=1000, description="How many may come at once after a pause.")] = 1


class Backoff(_Part, frozen=True, kw_only=True):
    """After 429, 403 and server errors: base to the power of the try, plus chance."""

    base_s: Annotated[Span, Meta(description="Seconds before the first retry; doubled each time.")] = member(
        name="base", default=2.0
    )
    max_s: Annotated[Seconds, Meta(description="Never longer.")] = member(name="max", default=300.0)
    attempts: Annotated[int, Meta(ge=1, le=20, description="Tries in all.")] = 3


class LoginStep(_Part, frozen=True, kw_only=True):
    """One request of a login, in order; cookies are kept, `take` is known to later steps as `${NAME}`."""

    url: Annotated[Text, Meta(description="Absolute address.")]
    method: Annotated[Literal["GET", "POST"], Meta(description="GET, or POST.")] = "GET"
    form: Annotated[dict[str, str], Meta(description="Fields of a form.")] = member(default_factory=dict)
    json: Annotated[Any, Meta(description="A JSON body, instead of a form.")] = None
    headers: Annotated[dict[str, str], Meta(description="Headers of this request.")] = member(default_factory=dict)
    take: Annotated[dict[FieldName, Source], Meta(description="Values from the answer, such as hidden tokens.")] = (
        member(default_factory=dict)
    )
    expect: Annotated[Source | None, Meta(description="What a successful answer holds.")] = None


class FetchPolicy(_Part, frozen=True, kw_only=True):
    """How pages of the site are asked for; the operator's ceilings and the host's own wishes hold above it."""

    concurrency: Annotated[int, Meta(ge=1, le=100, description="Requests at once.")] = 4
    rate: Annotated[Rate | None, Meta(description="Requests a second; none below the host's own limit.")] = None
    timeout_s: Annotated[ShortSpan, Meta(le=600, description="For one request, redirects included.")] = member(
        name="timeout", default=10.0
    )
    delay_s: Annotated[
        tuple[Seconds, Seconds], Meta(description="A pause before each request, drawn between the two.")
    ] = member(name="delay", default=(0.0, 0.0))
    backoff: Annotated[Backoff, Meta(description="How long to wait after a refusal.")] = member(default_factory=Backoff)
    proxies: Annotated[Name | None, Meta(description="Name of a proxy pool.")] = None
    identities: Annotated[Name | None, Meta(description="Name of an identity pool.")] = None
    headers: Annotated[dict[str, str], Meta(description="Headers of each request.")] = member(default_factory=dict)
    cookies: Annotated[dict[str, str], Meta(description="Cookies of each request.")] = member(default_factory=dict)
    warm_up: Annotated[Text | None, Meta(description="A page to visit first, for its cookies.")] = None
    login: Annotated[tuple[LoginStep, ...], Meta(description="Requests that log in.")] = ()
    browser: Annotated[Browser, Meta(description="Whether pages are rendered.")] = "never"
    robots: Annotated[bool, Meta(description="Whether robots.txt is obeyed.")] = True
    block: Annotated[
        tuple[Pattern, ...], Meta(description="Addresses never asked for, beside the global block list.")
    ] = ()


class Alert(_Part, frozen=True, kw_only=True):
    """Says when too many items lack a field."""

    field: Annotated[Text, Meta(description="Which field; `*` is each core field.")] = "*"
    empty_rate: Annotated[float, Meta(gt=0, le=1, description="Share of items without it: 0.3 is 30 %.")] = 0.3
    window_s: Annotated[Span, Meta(description="Looking back so far.")] = member(name="window", default=3600.0)
    min_items: Annotated[int, Meta(ge=1, description="Not before so many items.")] = 20
    pause: Annotated[bool, Meta(description="Pause the site until somebody looks.")] = False


class PageTest(_Part, frozen=True, kw_only=True):
    """A saved page and what the rule must find on it."""

    page: Annotated[Text, Meta(description="File beside the rule.")]
    url: Annotated[Text | None, Meta(description="Where it was; else an address made from site_id.")] = None
    kind: Annotated[PageKind | None, Meta(description="Which kind of page; else that of a start page.")] = None
    content_type: Annotated[Text | None, Meta(description="Of the answer; else by the file's name.")] = None
    headers: Annotated[dict[str, str], Meta(description="Of the answer.")] = member(default_factory=dict)
    fetched_at: Annotated[Text | None, Meta(description="ISO instant that relative dates count from.")] = None
    expect: Annotated[
        tuple[dict[str, Any], ...] | None,
        Meta(description="The items, in order; of each only the named fields are compared."),
    ] = None
    follow: Annotated[tuple[str, ...] | None, Meta(description="All addresses that are followed.")] = None
    next: Annotated[str | None, Meta(description="The next page's address.")] = None


class Rule(_Part, frozen=True, kw_only=True):
    """All there is to say about one site."""

    site_id: Annotated[Name, Meta(description="The site's name, everywhere.")]
    fields: Annotated[dict[FieldName, Field], Meta(min_length=1, description="The fields of an item.")]
    description: Annotated[str, Meta(description="For people.")] = ""
    language: Annotated[Text | None, Meta(description="Of all fields: `de`, `pt-BR`; else what the page says.")] = None
    timezone: Annotated[Text, Meta(description="Of dates that name none.")] = "UTC"
    each: Annotated[Source | None, Meta(description="One item for each match; else one item a page.")] = None
    start: Annotated[
        PageKind | None, Meta(description="What kind a seed's pages are; `list` where `follow` or `next` is given.")
    ] = None
    items_on: Annotated[
        tuple[PageKind, ...] | None,
        Meta(description="Kinds of pages that hold items; by default not those that only lead to details."),
    ] = None
    match: Annotated[
        tuple[Pattern, ...], Meta(description="Only pages whose address matches one of these hold items.")
    ] = ()
    unique_key: Annotated[UniqueKey, Meta(description="What makes an item this item.")] = member(
        default_factory=UniqueKey
    )
    follow: Annotated[tuple[Follow, ...], Meta(description="Links to further pages.")] = ()
    next: Annotated[NextPage | None, Meta(description="How a list goes on.")] = None
    list_depth: Annotated[
        int, Meta(ge=0, le=10_000, description="Lists that lead to lists: at most so many after a seed's own.")
    ] = 50
    fetch: Annotated[FetchPolicy, Meta(description="How pages are asked for.")] = member(default_factory=FetchPolicy)
    recollect_after_s: Annotated[
        Span | None, Meta(description="After which a page is collected again; never by itself where unsaid.")
    ] = member(name="recollect_after", default=None)
    alerts: Annotated[tuple[Alert, ...], Meta(description="When to say that the rule may have broken.")] = ()
    sinks: Annotated[tuple[Name, ...], Meta(description="Names of sinks that items go to.")] = ()
    tests: Annotated[tuple[PageTest, ...], Meta(description="Saved pages and what must be found on them.")] = ()

    def start_kind(self) -> PageKind:
        """What kind of page a seed's addresses lead to."""
        return self.start or ("list" if self.follow or self.next else "detail")

    def holds_items(self, kind: PageKind) -> bool:
        """Whether pages of this kind hold items."""
        if self.items_on is not None:
            return kind in self.items_on
        leads_on = any(follow.to == "detail" for follow in self.follow)
        return kind == "detail" or self.each is not None or not leads_on
