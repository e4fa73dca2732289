"""Numbers of processes that ended stay, in one file, however many there were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_COUNT = """
from perseid.observe.metrics import metrics
for _ in range(3):
    metrics().step(finished=2, claimed=0, seconds=0.2)
metrics().trouble("store.retry", "away")
metrics().sink_acked(sink="warehouse", items=7, seconds=0.2)
"""
_TELL = """
import sys
from prometheus_client import generate_latest
from perseid.observe.metrics import fold, registry
for pid in sys.argv[1:]:
    fold(int(pid))
    fold(int(pid))
print(generate_latest(registry()).decode())
"""


def _run(folder: Path, code: str, *words: str) -> tuple[int, str]:
    environment = {"PYTHONPATH": ":".join(sys.path), "PROMETHEUS_MULTIPROC_DIR": str(folder)}
    process = subprocess.Popen([sys.executable, "-c", code, *words], env=environment, stdout=subprocess.PIPE, text=True)
    told, _err = process.communicate(timeout=60)
    assert process.returncode == 0
    return process.pid, told


def test_numbers_of_processes_that_ended_are_kept_in_one_file(tmp_path: Path) -> None:
    pids = [_run(tmp_path, _COUNT)[0] for _ in range(4)]
    before = _run(tmp_path, _TELL)[1]
    assert 'perseid_trouble_total{event="store.retry"} 4.0' in before
    after = _run(tmp_path, _TELL, *map(str, pids[:3]))[1]
    assert sorted(before.splitlines()) == sorted(after.splitlines())
    assert "perseid_step_jobs_total 24.0" in after
    assert 'perseid_sink_items_total{sink="warehouse"} 28.0' in after
    assert 'perseid_step_seconds_bucket{le="0.25"} 12.0' in after
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(
        ["counter_ended.db", "histogram_ended.db", f"counter_{pids[3]}.db", f"histogram_{pids[3]}.db"]
    )


_WITHOUT_BROKER = """
from perseid.observe.metrics import metrics
metrics().trouble("delivery.away", "gone")
"""
_AND_BACK = _WITHOUT_BROKER + "metrics().trouble('delivery.back', 'there')"


def test_one_process_without_its_broker_shows_until_it_ends(tmp_path: Path) -> None:
    _run(tmp_path, _AND_BACK)
    assert "perseid_delivery_up 1.0" in _run(tmp_path, _TELL)[1]
    alone = _run(tmp_path, _WITHOUT_BROKER)[0]
    assert "perseid_delivery_up 0.0" in _run(tmp_path, _TELL)[1]
    assert "perseid_delivery_up 1.0" in _run(tmp_path, _TELL, str(alone))[1]
