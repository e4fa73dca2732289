"""Clear what ended crawls leave in the queues and those past their time to live, fail what is past its deadline,
watch for stranded work.
"""

from __future__ import annotations

from perseid.errors import StoreError
from perseid.ports.store import Store
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop

_ROUNDS = 20


async def run(store: Store, telemetry: Telemetry, stop: Stop, *, every_s: float) -> None:
    while not await stop.sleep(every_s):
        try:
            while await store.sweep() and not stop.asked:
                pass
            await store.prune(rounds=_ROUNDS)  # only those whose own time to live is over
            if stranded := await store.unpark():
                telemetry.trouble("audit.finding", f"{stranded} lanes held work though marked empty: a bug")
        except StoreError as error:
            telemetry.trouble("store.retry", str(error))
