"""Whole-site crawls beside Scrapy, crawl4ai, spider-rs and wget, where the evaluation data lies beside the checkout.

    python benchmarks/peers.py [--site pgx|pg|cpp] [--reps N] [--only 'scrapy_h2md wget'] [--work FOLDER]

A thin runner of the harness in ../shared/bench/peers (or below $PERSEID_SHARED), which is copied to the working folder
and set up there once: that takes minutes, root (a mount namespace), nginx, node, and packages from registries. Without
arguments it only runs where that has been done.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = "scrapy_h2md spider_rs crawl4ai_http wget"


def ours(processes: int) -> str:
    """Our command, in the harness's terms."""
    run = f"PYTHONPATH={shlex.quote(str(ROOT / 'src'))} {shlex.quote(sys.executable)} -m perseid.cli"
    return f"{run} crawl {{url}} --out {{out}}/c --processes {processes}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", default="pgx")
    parser.add_argument("--reps", default="1")
    parser.add_argument("--only", default=PEERS, help="peers, separated by spaces")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "peers")
    parser.add_argument("--set-up", action="store_true", help="copy and set up the harness where it is not")
    options = parser.parse_args()
    harness = Path(os.environ.get("PERSEID_SHARED", ROOT.parent / "shared")) / "bench" / "peers"
    if not (harness / "run_all.sh").is_file():
        print(f"no harness at {harness}: set PERSEID_SHARED to the folder of evaluation data")
        return
    if not (options.work / "env").is_dir():
        if not options.set_up:
            print(f"the harness is not set up in {options.work}: --set-up does it")
            return
        shutil.copytree(harness, options.work, dirs_exist_ok=True)
        subprocess.run(["./setup.sh"], cwd=options.work, check=True)
    for processes, peers in ((1, options.only), (os.cpu_count() or 1, "")):
        print(f"ours with {processes} processes")
        subprocess.run(
            [
                *("./run_all.sh", "--site", options.site, "--reps", options.reps, "--only", peers),
                *("--ours", ours(processes), "--ours-count", "wc -l < {out}/c/pages.jsonl"),
            ],
            cwd=options.work,
            check=True,
        )


if __name__ == "__main__":
    main()
