"""`perseid rules`: checking rule files, trying them on pages, having selectors proposed, publishing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, published, sited
from perseid.cli.context import loaded, run, told
from perseid.cli.exits import Exit
from perseid.cli.output import count, emit, flush, say
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.model.item import Extraction
    from perseid.model.rule import PageKind, Rule
    from perseid.rules.complaint import Complaint
    from perseid.rules.page import Page
    from perseid.rules.trying import ItemChange, Outcome

FILE = click.Path(path_type=Path)
_URL = click.option("--url", metavar="URL", help="Fetch this page and read it.")
_PAGE = click.option("--page", "saved", type=FILE, metavar="FILE", help="Read a saved page; --url says where it was.")


@click.group()
def rules() -> None:
    """Check, try and publish rules: files that say how items are read from a site."""


published.install(rules, published.RULE)


@rules.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@flags.json
@click.pass_context
def validate(ctx: click.Context, *, files: tuple[Path, ...], json: bool) -> None:
    """Check rule files; a folder stands for all rules below it, less the pages that they are tested on.

    Each fault is named with file, line, column and path. Ends with 2 when a rule is not valid.
    """
    with told(ctx):
        found = _complaints(_rule_files(files))
        broken = any(each.severity == "error" for each in found)
        for each in found:
            if json:
                emit(_json(each))
            else:
                say(str(each))
        if not json:
            faults = sum(each.severity == "error" for each in found)
            say(f"{count(faults, 'fault')}, {count(len(found) - faults, 'warning')}")
        flush()
        if broken:
            raise SystemExit(Exit.USAGE)


@rules.command()
def schema() -> None:
    """Print the JSON Schema of rule files, for editors."""
    import msgspec  # noqa: PLC0415  start-up time

    from perseid.rules.schema import schema  # noqa: PLC0415  start-up time

    emit(msgspec.json.format(msgspec.json.encode(schema()), indent=2))
    flush()


@rules.command()
@click.argument("file", type=FILE, metavar="FILE")
@_URL
@_PAGE
@click.option("--kind", type=click.Choice(["list", "detail"]), help="Read the page as this kind of page.")
@click.option("--stored", is_flag=True, help="Tell what it changes on pages that are kept, against the rule in use.")
@sited.data
@flags.json
@click.pass_context
def test(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    file: Path,
    url: str | None,
    saved: Path | None,
    kind: PageKind | None,
    stored: bool,
    data: Path,
    json: bool,
) -> None:
    """Try a rule: on the saved pages it names, on --url, on --page or on --stored pages.

    Ends with 1 when a saved page gives something else than the rule expects, when an item would go to the exception
    queue, or with --stored when a sound item would be lost or broken.
    """

    async def work() -> bool:
        from perseid.rules.loading import load_file  # noqa: PLC0415  start-up time

        found = load_file(file)
        for warning in found.warnings:
            say(str(warning))
        if stored:
            return await _tell_stored(ctx, found.rule, data, json=json)
        if url is None and saved is None:
            return _tell_tests(found.rule, file, json=json)
        from perseid.rules.extracting import extract  # noqa: PLC0415  start-up time

        page = _saved(saved, url) if saved is not None else await _fetched(ctx, url or "", found.rule)
        return _tell_page(page.url, extract(found.rule, page, kind), json=json)

    if not run(ctx, work()):
        raise SystemExit(Exit.ERROR)


@rules.command()
@click.argument("examples", nargs=-1, required=True, metavar="NAME[=VALUE]...")
@click.option("--site", metavar="NAME", default="site", show_default=True, help="The site_id of the rule.")
@_URL
@_PAGE
@flags.json
@click.pass_context
def propose(
    ctx: click.Context, *, examples: tuple[str, ...], site: str, url: str | None, saved: Path | None, json: bool
) -> None:
    """Print a rule whose selectors find example values on a page: title="Blue shoes" price="12.99 €".

    Values that are left out are looked for by the language model, where one is configured. Ends with 1 when a value is
    not found.
    """

    async def work() -> bool:
        from perseid.publishing.writing import text_of  # noqa: PLC0415  start-up time
        from perseid.rules.propose import propose, short  # noqa: PLC0415  start-up time

        wanted, names = _examples(examples)
        if saved is None and url is None:
            raise ConfigError("say which page: --url URL, or --page FILE")
        page = _saved(saved, url) if saved is not None else await _fetched(ctx, url or "", None)
        if names:
            wanted |= await _seen(ctx, page, names)
        proposals, missing = propose(page, wanted)
        nowhere = [name for name in names if name not in wanted]
        value = {"site_id": site, "fields": {each.name: short(each.field) for each in proposals}}
        emit(_json(value) if json else text_of(value).rstrip())
        for each in proposals:
            if each.matches > 1:
                say(f"{each.name}: the first of {each.matches} matches is taken")
        for name in missing:
            say(f"{name}: {wanted[name]!r} is not found on the page as a whole text or attribute")
        for name in nowhere:
            say(f"{name}: the language model doesn't see it on the page; write {name}=VALUE")
        return not missing and not nowhere

    if not run(ctx, work()):
        raise SystemExit(Exit.ERROR)


def _rule_files(paths: Sequence[Path]) -> list[Path]:
    from perseid.rules.loading import SUFFIXES  # noqa: PLC0415  start-up time

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES and each.is_file())
            if not below:
                raise ConfigError(f"there is no rule (.yaml, .yml, .json) in {str(path)!r}")
            found.extend(below)
        else:
            found.append(path)
    return found


def _complaints(paths: Sequence[Path]) -> list[Complaint]:
    """About all of the files, in their order; a JSON page that a rule is tested on is no rule itself."""
    from perseid.rules.complaint import RuleInvalid  # noqa: PLC0415  start-up time
    from perseid.rules.loading import load_file  # noqa: PLC0415  start-up time

    found: dict[Path, Sequence[Complaint]] = {}
    pages: set[Path] = set()
    for path in paths:
        try:
            loaded = load_file(path)
        except RuleInvalid as invalid:
            found[path] = invalid.complaints
        else:
            found[path] = loaded.warnings
            pages.update((path.parent / test.page).resolve() for test in loaded.rule.tests)
    return [each for path, complaints in found.items() if path.resolve() not in pages for each in complaints]


def _tell_tests(rule: Rule, file: Path, *, json: bool) -> bool:
    from perseid.rules.trying import run_tests  # noqa: PLC0415  start-up time

    if not rule.tests:
        raise ConfigError(f"{file.name} has no `tests`; name a page by --url or --page, or save some beside the rule")
    outcomes = run_tests(rule, file.parent)
    for outcome in outcomes:
        _tell_outcome(outcome, json=json)
    passed = sum(outcome.passed for outcome in outcomes)
    say(f"{passed} of {count(len(outcomes), 'page')} as expected")
    return passed == len(outcomes)


async def _tell_stored(ctx: click.Context, rule: Rule, data: Path, *, json: bool) -> bool:
    pages = lost = broken = gained = mended = 0
    async with sited.sites(ctx, data) as sites:
        async for change in sites.changes(rule):
            pages, lost, broken = pages + 1, lost + change.lost, broken + change.broken
            gained, mended = gained + change.gained, mended + change.mended
            _tell_change(change, json=json)
    say(
        f"{count(pages, 'page')} would change: {lost:,} items lost, {broken:,} broken, {gained:,} gained,"
        f" {mended:,} mended"
    )
    return not (lost or broken)


def _tell_change(change: ItemChange, *, json: bool) -> None:
    if json:
        emit(_json(change))
        return
    emit(change.url)
    for name, (before, after) in change.fields.items():
        emit(f"  {name}: {_json(before).decode()} → {_json(after).decode()}")


def _tell_outcome(outcome: Outcome, *, json: bool) -> None:
    if json:
        emit(_json({"page": outcome.page, "passed": outcome.passed, "misses": outcome.misses}))
        return
    say(f"{'ok  ' if outcome.passed else 'FAIL'}  {outcome.page}")
    for miss in outcome.misses:
        say(f"      {miss}")


def _tell_page(url: str, found: Extraction, *, json: bool) -> bool:
    if json:
        emit(_json({"url": url, "items": found.items, "follow": found.follow, "notes": found.notes}))
    else:
        for item in found.items:
            emit(_json({"key": item.key, **item.fields}))
            for problem in item.problems:
                raw = "" if problem.raw is None else f" (the page says {problem.raw!r})"
                say(f"{'FAIL' if problem.fatal else 'warning'}: {problem.field}: {problem.message}{raw}")
        for each in found.follow:
            say(f"{'next page' if each.list_page > 1 else each.kind}: {each.url}")
        for note in found.notes:
            say(f"warning: {note}")
        say(f"{count(len(found.items), 'item')}, {count(len(found.follow), 'link')} to follow")
    return all(item.sound for item in found.items) and not found.notes


def _saved(path: Path, url: str | None) -> Page:
    import mimetypes  # noqa: PLC0415  start-up time

    from perseid.rules.page import Page  # noqa: PLC0415  start-up time

    try:
        body = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the page {str(path)!r} can't be read: {error.strerror}") from error
    return Page(url or f"https://site.example/{path.name}", body, content_type=mimetypes.guess_type(path.name)[0])


async def _fetched(ctx: click.Context, url: str, rule: Rule | None) -> Page:
    """The page, fetched as a scrape fetches it, with the rule's headers and cookies where these hold no secrets."""
    from datetime import UTC, datetime  # noqa: PLC0415  start-up time

    from perseid.cli.options import Fetching, scrape_options  # noqa: PLC0415  start-up time
    from perseid.crawls.start import web_url  # noqa: PLC0415  start-up time
    from perseid.facade import scrape  # noqa: PLC0415  start-up time
    from perseid.rules.page import Page  # noqa: PLC0415  start-up time

    settings = loaded(ctx).settings
    headers, cookies = _sent(rule)
    options = scrape_options(Fetching(headers=headers, cookies=cookies, formats=("rawHtml",)), settings)
    document = await scrape(web_url(url), options, settings=settings)
    at = datetime.fromtimestamp(document.fetched_at / 1e6, UTC)
    return Page(document.url, document.raw_html or "", content_type=document.content_type, fetched_at=at)


def _sent(rule: Rule | None) -> tuple[list[str], list[str]]:
    from perseid.rules.secrets import REFERENCE, names  # noqa: PLC0415  start-up time

    if rule is None:
        return [], []
    if unknown := names(rule):
        say(f"warning: sent without what needs secrets ({', '.join(unknown)})")
    if rule.fetch.login:
        say("warning: sent without logging in")
    headers = [f"{name}: {value}" for name, value in rule.fetch.headers.items() if not REFERENCE.search(value)]
    cookies = [f"{name}={value}" for name, value in rule.fetch.cookies.items() if not REFERENCE.search(value)]
    return headers, cookies


def _examples(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Values by name, and the names that stand alone."""
    found: dict[str, str] = {}
    alone: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not name.strip().isidentifier() or (equals and not value.strip()):
            raise ConfigError(f"{word!r} is no example; write NAME=VALUE, such as title='Blue shoes'")
        if equals:
            found[name.strip()] = value
        else:
            alone.append(name.strip())
    return found, alone


async def _seen(ctx: click.Context, page: Page, names: Sequence[str]) -> dict[str, str]:
    """What the language model sees on the page."""
    from perseid.answers.examples import examples_on  # noqa: PLC0415  start-up time
    from perseid.rules.propose import shown  # noqa: PLC0415  start-up time
    from perseid.runtime.backends import language_model  # noqa: PLC0415  start-up time
    from perseid.runtime.clock import SystemClock  # noqa: PLC0415  start-up time

    settings = loaded(ctx).settings.llm
    if not settings.model:
        raise ConfigError(
            f"{names[0]!r} has no value; write NAME=VALUE, such as title='Blue shoes', or configure a language model"
            " that looks for it: PERSEID_LLM__BASE_URL, PERSEID_LLM__MODEL"
        )
    model = language_model(settings, SystemClock())
    try:
        return await examples_on(model, shown(page), names, timeout_s=settings.timeout_s)
    finally:
        await model.close()


def _json(value: Any) -> bytes:
    import msgspec  # noqa: PLC0415  start-up time

    return msgspec.json.encode(value)
