"""A thousand seeds by one worker on a local site: tasks a second, their time (P50, P95), CPU and memory per task.

    python -m benchmarks.seeds [--seeds 1000] [--tasks 10] [--sites 20] [--concurrency 32] [--postgresql] [--profile]

Each seed is a template of `--tasks` addresses; the rules take five fields of each page. The site is made up, served by
a process of its own, and is not counted; neither is the database's server. With `--million`, one seed makes a million
addresses, of which so many seconds' worth are collected: what is told is the memory of the process meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import resource
import statistics
import tempfile
import time
from pathlib import Path

import msgspec

from perseid.config.settings import Settings, StoreSettings
from perseid.model.job import JobKind
from perseid.model.seed import Seed, Template
from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.seeds import NewSeed
from perseid.ports.telemetry import Run
from perseid.rules.loading import dumped, from_value
from perseid.runtime.collecting import Collector
from perseid.runtime.engine import Engine
from perseid.testing.child import served
from perseid.worker.stop import Stop

RULE = {
    "start": "detail",
    "fields": {
        "title": {"css": "h1", "required": True},
        "page": {"url": True, "regex": r"/p/(\d+)", "type": "integer", "required": True},
        "home": {"css": "nav a::attr(href)", "type": "url"},
        "text": {"css": "main p", "type": "text"},
        "links": {"css": "main li a", "many": True},
    },
    "unique_key": ["page"],
    "fetch": {"concurrency": 100},
}


class Listener:
    """Hears how long each task took."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def job_finished(self, run: Run) -> None:
        if run.finished.lease.kind is JobKind.TASK:
            self.seconds.append(run.seconds)

    def __getattr__(self, _name: str) -> object:
        return lambda *_, **__: None


async def prepare(engine: Engine, options: argparse.Namespace, url: str) -> None:
    """Publish the rules, and have all seeds due now."""
    for number in range(options.sites):
        rule = from_value({"site_id": f"site{number}", **RULE}).rule
        body = msgspec.json.encode(dumped(rule))
        await engine.store.configs.publish(NewVersion(team=1, kind=ConfigKind.RULE, name=rule.site_id, body=body))
        await engine.store.seeds.put_site(1, rule.site_id)
    for number in range(options.seeds):
        first = number * options.tasks
        site = f"site{number % options.sites}"
        source = Template(url=f"{url}p/{{page:{first}..{first + options.tasks - 1}}}")
        seed = Seed(seed_id=f"seed{number}", site_id=site, source=source)
        new = NewSeed(team=1, seed=seed.seed_id, site=site, spec=msgspec.json.encode(seed), next_at=0)
        await engine.store.seeds.put_seed(new)


async def work(engine: Engine, options: argparse.Namespace) -> tuple[float, float]:
    """(wall, CPU) seconds until all is collected, or until `--seconds` are over."""
    stop = Stop()
    if options.seconds:
        asyncio.get_running_loop().call_later(options.seconds, stop.ask)
    began, cpu = time.perf_counter(), time.process_time()
    await Collector(engine).run_until_idle(stop, concurrency=options.concurrency)
    return time.perf_counter() - began, time.process_time() - cpu


async def measure(options: argparse.Namespace, url: str, folder: Path, store_url: str) -> None:
    listener = Listener()
    settings = Settings(store=StoreSettings(url=store_url))
    engine = await Engine.open(folder, settings, listeners=[listener])
    try:
        await prepare(engine, options, url)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, cpu = await work(engine, options)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finally:
        await engine.close()
    done = len(listener.seconds)
    cuts = statistics.quantiles(listener.seconds, n=100)
    print(f"{options.seeds:,} seeds, {done:,} tasks in {wall:.1f} s: {done / wall:.0f} tasks/s")
    print(f"  a task: P50 {1000 * cuts[49]:.1f} ms, P95 {1000 * cuts[94]:.1f} ms; CPU {1000 * cpu / done:.2f} ms")
    print(f"  memory: {before / 1024:.0f} MB before, at most {after / 1024:.0f} MB")


async def run(options: argparse.Namespace, url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if not options.postgresql:
            await measure(options, url, Path(folder), "")
            return
        from perseid.testing.postgres import give_back, take_database, url_of  # noqa: PLC0415 - its driver is an extra

        database = await take_database()
        try:
            await measure(options, url, Path(folder), url_of(database))
        finally:
            await give_back(database)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--tasks", type=int, default=10, help="of each seed")
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument(
        "--million", type=float, default=0.0, help="one seed of a million addresses, for so many seconds"
    )
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if options.million:
        options.seeds, options.sites, options.tasks, options.seconds = 1, 1, 1_000_000, options.million
    with served("perseid.testing.site", "--pages", str(options.seeds * options.tasks)) as server:
        if not options.profile:
            asyncio.run(run(options, server.url))
            return
        profiler = cProfile.Profile(time.process_time)
        profiler.runcall(asyncio.run, run(options, server.url))
        pstats.Stats(profiler).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
