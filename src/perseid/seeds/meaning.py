"""Whether a seed of the right shape makes sense: schedules that come, templates that can be filled, paths, patterns."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from perseid.errors import ConfigError, MissingExtra
from perseid.model.seed import (
    ApiSource,
    CsvSource,
    FeedSource,
    PluginSource,
    Schedule,
    Seed,
    SitemapSource,
    SqlSource,
    Template,
    UrlList,
)
from perseid.pattern import later
from perseid.rules import jsonpath, regexes
from perseid.rules.complaint import clipped
from perseid.rules.normalise.date import zone_of
from perseid.rules.normalise.number import Unreadable
from perseid.rules.place import Places
from perseid.seeds import plugins, schedule, template
from perseid.seeds.addresses import usable
from perseid.seeds.template import BadTemplate

_READS = later(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:SELECT|WITH|VALUES|TABLE)\b", 2 | 16)
_SHOWN = 20
"""Bad addresses of one list that are told one by one."""


def check(seed: Seed, at: Places) -> None:
    """Complain about all that makes no sense."""
    _schedule(seed.schedule, at.below("schedule"))
    below = at.below("payload")
    if seed.source.body is not None and seed.source.method == "GET":
        below.below("body").error("a `body` is sent with `method: POST`")
    match seed.source:
        case UrlList():
            _addresses(seed.source.urls, below.below("urls"))
        case Template():
            _template(seed.source, below)
        case SitemapSource():
            _sitemap(seed.source, below)
        case FeedSource():
            _address(seed.source.url, below.below("url"))
        case ApiSource():
            _api(seed.source, below)
        case SqlSource():
            _sql(seed.source, below)
        case CsvSource():
            _csv(seed.source, below)
        case PluginSource():
            _plugin(seed.source, below)


def _schedule(said: Schedule, at: Places) -> None:
    try:
        zone_of(said.timezone)
    except Unreadable as error:
        at.below("timezone").error(str(error))
    if said.cron is not None and said.every_s is not None:
        at.below("every").error("a seed runs by `cron` or by `every`; keep one of the two")
    if said.every_s is not None and said.every_s < schedule.MIN_EVERY_S:
        at.below("every").error(f"at least {schedule.MIN_EVERY_S:g} s is wanted here, not {said.every_s:g}")
    if said.cron is not None:
        try:
            schedule.check_cron(said.cron)
        except (schedule.BadSchedule, MissingExtra) as error:
            at.below("cron").error(str(error))


def _addresses(written: Sequence[str], at: Places) -> None:
    bad = [number for number, each in enumerate(written) if usable(each) is None]
    if len(bad) == len(written):
        at.error(f"none of these is an address of the web: {clipped(written[0])!r}; they begin with https://")
        return
    for number in bad[:_SHOWN]:
        at.below(number).warn(f"{clipped(written[number])!r} is no address of the web and will be left out")
    if len(bad) > _SHOWN:
        at.warn(f"{len(bad) - _SHOWN} more are none, and will be left out")


def _address(written: str, at: Places) -> None:
    if usable(written) is None:
        at.error(f"{clipped(written)!r} is no address of the web; it begins with https://")


def _template(said: Template, at: Places) -> None:
    try:
        found = template.addresses(
            said.url, tuple(said.values.items()), said.since, said.until, datetime.now(UTC).date()
        )
    except BadTemplate as error:
        at.below("url").error(str(error))
        return
    _address(found[0], at.below("url"))


def _row_template(text: str | None, at: Places) -> None:
    if text is None:
        return
    try:
        holes = template.holes(text)
        for hole in holes:
            template.written(hole.form)
    except BadTemplate as error:
        at.error(str(error))
        return
    if not holes:
        at.error(f"{clipped(text)!r} has no placeholder such as {{id}}, so all rows would be one address")
    elif not isinstance(template.parsed(text)[0], template.Hole):
        _address(template.filled(text, dict.fromkeys((hole.name for hole in holes), "1")) or "", at)


def _sitemap(said: SitemapSource, at: Places) -> None:
    _address(said.url, at.below("url"))
    for name in ("match", "exclude"):
        for number, pattern in enumerate(getattr(said, name)):
            try:
                regexes.compiled(pattern)
            except ValueError as error:
                at.below(name, number).error(f"the pattern {clipped(pattern)!r} can't be read: {error}")
    if said.modified_since is not None:
        try:
            template.day_of(said.modified_since, datetime.now(UTC).date())
        except BadTemplate as error:
            at.below("modified_since").error(str(error))


def _api(said: ApiSource, at: Places) -> None:
    _address(said.url, at.below("url"))
    for name in ("items", "next"):
        path = getattr(said, name)
        if path is None:
            continue
        try:
            jsonpath.check(path)
        except (ValueError, MissingExtra) as error:
            at.below(name).error(f"the JSONPath {clipped(path)!r} can't be read: {error}")
    _row_template(said.template, at.below("template"))
    if said.next is None and said.parameter is None:
        at.warn("there is neither `next` nor `parameter`, so only one page is read")


def _sql(said: SqlSource, at: Places) -> None:
    _row_template(said.template, at.below("template"))
    if _READS.match(said.query) is None:
        at.below("query").error(f"a SELECT is wanted here, not {clipped(said.query.strip(), 40)!r}")
    elif said.key is None and "order" not in said.query.lower():
        at.below("query").warn("rows in no order may be read twice or never; name a `key`, or order them")


def _csv(said: CsvSource, at: Places) -> None:
    path = PurePosixPath(said.file)
    if path.is_absolute() or ".." in path.parts or "\\" in said.file:
        at.below("file").error("a path within the folder is wanted here, with slashes and without `..`")
    _row_template(said.template, at.below("template"))
    if said.template is not None and said.column is not None:
        at.below("column").error("addresses come from `column` or from `template`; keep one of the two")
    if said.delimiter in '"\r\n':
        at.below("delimiter").error(f"{said.delimiter!r} can't stand between columns")
    try:
        known = codecs.lookup(said.encoding)
        text = getattr(known, "_is_text_encoding", True)
    except LookupError:
        text = False
    if not text:
        at.below("encoding").error(f"there is no encoding {said.encoding!r}; names are such as utf-8, cp1252, gbk")


def _plugin(said: PluginSource, at: Places) -> None:
    try:
        for wrong in plugins.source(said.name).check(said.options):
            at.error(wrong)
    except ConfigError as error:
        at.error(str(error))
