"""What somebody wants collected of a site: where its addresses come from, when, and how urgent it is.

In JSON, YAML and over HTTP a seed is `{seed_id, site_id, task_type, payload, schedule, priority, timestamp}`
(`perseid.seeds.loading`); these structs are what is kept of it. Durations are seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec import field as member

from perseid.model.rule import Name, PageKind, Pattern, Span, Text

CatchUp: TypeAlias = Literal["once", "all", "skip"]

_DAY = "A day: `2025-03-01`, `today`, or `today-7`."


class _Part(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class _Payload(_Part, frozen=True, kw_only=True, tag_field="task_type"):
    method: Annotated[Literal["GET", "POST"], Meta(description="Of each task.")] = "GET"
    headers: Annotated[dict[str, str], Meta(description="Of each task, above those of the rule.")] = member(
        default_factory=dict
    )
    body: Annotated[
        str | None, Meta(description="Sent with each POST: a form, unless the headers name another Content-Type.")
    ] = None
    page: Annotated[PageKind | None, Meta(description="What kind of page it is; else as the rule says.")] = None


class UrlList(_Payload, frozen=True, kw_only=True, tag="urls"):
    """Addresses one by one."""

    urls: Annotated[tuple[Text, ...], Meta(min_length=1, description="Absolute addresses.")]


class Template(_Payload, frozen=True, kw_only=True, tag="template"):
    """One address for each combination of its placeholders, the last one changing fastest."""

    url: Annotated[Text, Meta(description="An address with placeholders in braces.")]
    values: Annotated[dict[str, tuple[Text, ...]], Meta(description="What a placeholder `{name}` stands for.")] = (
        member(default_factory=dict)
    )
    since: Annotated[Text | None, Meta(description=f"The first day of `{{date:%Y-%m-%d}}`. {_DAY}")] = None
    until: Annotated[Text | None, Meta(description="The last day; today by default.")] = None


class SitemapSource(_Payload, frozen=True, kw_only=True, tag="sitemap"):
    """The pages of a sitemap, with those of all that it names in turn."""

    url: Annotated[Text, Meta(description="Of a sitemap or an index of sitemaps, compressed or not.")]
    match: Annotated[tuple[Pattern, ...], Meta(description="Only addresses that match one of these.")] = ()
    exclude: Annotated[tuple[Pattern, ...], Meta(description="No addresses that match one of these.")] = ()
    modified_since: Annotated[
        Text | None, Meta(description=f"Without what the sitemap says to be older; what says nothing stays. {_DAY}")
    ] = None


class FeedSource(_Payload, frozen=True, kw_only=True, tag="feed"):
    """The entries of an RSS, Atom or JSON feed."""

    url: Annotated[Text, Meta(description="Of the feed.")]
    max_pages: Annotated[
        int, Meta(ge=1, le=10_000, description="How far to follow the feed's own link to older entries.")
    ] = 1


class ApiSource(_Payload, frozen=True, kw_only=True, tag="api"):
    """Addresses in the answers of a JSON API, page by page."""

    url: Annotated[Text, Meta(description="Of the first page.")]
    items: Annotated[Text, Meta(description="JSONPath of the addresses, or of what `template` is filled with.")]
    template: Annotated[
        Text | None, Meta(description="An address with `{value}`, or with `{name}` of each object.")
    ] = None
    next: Annotated[
        Text | None, Meta(description="JSONPath of the next page's address, or of the value of `parameter` there.")
    ] = None
    parameter: Annotated[
        Text | None, Meta(description="A parameter of the address that counts pages or items, or takes `next`.")
    ] = None
    start: Annotated[int, Meta(ge=0, description="What the first page's `parameter` is, where it counts.")] = 1
    step: Annotated[int, Meta(ge=1, description="By how much it grows.")] = 1
    max_pages: Annotated[int, Meta(ge=1, le=1_000_000, description="At most so many pages.")] = 10_000


class SqlSource(_Payload, frozen=True, kw_only=True, tag="sql"):
    """The rows of a query on a database that the operator has named."""

    connection: Annotated[Name, Meta(description="Name of a connection in the settings.")]
    query: Annotated[Text, Meta(description="A SELECT; without `key`, one that orders its rows.")]
    key: Annotated[
        Text | None,
        Meta(description="A column of unique numbers or texts: rows are read in its order, each part from an index."),
    ] = None
    template: Annotated[
        Text | None, Meta(description="An address with `{column}`; else the first column is the address.")
    ] = None


class CsvSource(_Payload, frozen=True, kw_only=True, tag="csv"):
    """The rows of a file in a folder that the operator has named."""

    folder: Annotated[Name, Meta(description="Name of a folder in the settings.")]
    file: Annotated[Text, Meta(description="Path within the folder.")]
    column: Annotated[Text | None, Meta(description="The column with the address; else the first.")] = None
    template: Annotated[Text | None, Meta(description="An address with `{column}` of each row.")] = None
    header: Annotated[
        bool, Meta(description="The first row names the columns; else their names are `1`, `2` and so on.")
    ] = True
    delimiter: Annotated[str, Meta(min_length=1, max_length=1, description="Between two columns.")] = ","
    encoding: Annotated[Text, Meta(description="Of the file, as Python names it.")] = "utf-8-sig"


class PluginSource(_Payload, frozen=True, kw_only=True, tag="plugin"):
    """A source that another package brings along (`perseid.seeds.plugins`); its name is the seed's `task_type`."""

    name: Text
    options: dict[str, Any] = member(default_factory=dict)


Payload: TypeAlias = UrlList | Template | SitemapSource | FeedSource | ApiSource | SqlSource | CsvSource | PluginSource


class Schedule(_Part, frozen=True, kw_only=True):
    """When a seed runs: at once and once where neither `cron` nor `every` is given."""

    cron: Annotated[
        Text | None, Meta(description="Minute, hour, day, month and weekday; or `@daily` and its like.")
    ] = None
    every_s: Annotated[Span | None, Meta(description="This long after the last time it was due.")] = member(
        name="every", default=None
    )
    timezone: Annotated[Text, Meta(description="That `cron` and `today` go by.")] = "UTC"
    catch_up: Annotated[
        CatchUp,
        Meta(description="For times that passed while nothing could run: one run for all of them, one each, or none."),
    ] = "once"
    at_once: Annotated[bool, Meta(description="Run when the seed is added, too.")] = True


class Seed(_Part, frozen=True, kw_only=True):
    """`source` is the payload, tagged by its `task_type`."""

    seed_id: Annotated[Name, Meta(description="The seed's name, unique within the team.")]
    site_id: Annotated[Name, Meta(description="Which rule reads its pages.")]
    source: Payload
    schedule: Annotated[Schedule, Meta(description="When it runs.")] = member(default_factory=Schedule)
    priority: Annotated[int, Meta(ge=0, le=9, description="Of seeds that are due, the higher begins first.")] = 5
    force: Annotated[bool, Meta(description="Collect pages again that were collected before.")] = False
    limit: Annotated[int, Meta(ge=1, description="At most so many tasks a run; what lies beyond is left.")] = 1_000_000
    rule: Annotated[dict[str, Any] | None, Meta(description="A rule for this seed alone.")] = None
    timestamp: Annotated[Text | None, Meta(description="When it was written; kept as it is.")] = None
