"""ClickHouse's engine behind its HTTP interface, as far as sinks use that: for tests where no server can be installed.

The engine is the real one, in this process (chdb). What is ours is the door: one POST with a query and its data, basic
errors with their codes, one user. Run as `python -m perseid.testing.chdb_server FOLDER PASSWORD`; it says its port.
"""

from __future__ import annotations

import asyncio
import re
import sys

from aiohttp import web
from chdb.session import Session


class Door:
    def __init__(self, folder: str, password: str) -> None:
        self._session = Session(folder)
        self._password = password
        self._one = asyncio.Lock()

    async def answer(self, request: web.Request) -> web.Response:
        body = (await request.read()).decode("utf-8", "surrogateescape")
        if request.headers.get("X-ClickHouse-Key", "") != self._password:
            return _fault("Code: 516. DB::Exception: Authentication failed: password is incorrect.")
        settings = {
            name: value for name, value in request.query.items() if name not in {"database", "wait_end_of_query"}
        }
        async with self._one:
            try:
                for name, value in settings.items():
                    self._session.query(f"SET {name} = '{value}'")
                self._session.query(f"USE `{request.query['database']}`")
                found = await asyncio.to_thread(self._session.query, body, "TabSeparated")
            except Exception as error:  # noqa: BLE001 - the engine's own types differ by release
                return _fault(str(error))
        return web.Response(body=found.bytes())


def _fault(words: str) -> web.Response:
    code = re.search(r"Code: (\d+)", words)
    return web.Response(status=500, text=words, headers={"X-ClickHouse-Exception-Code": code[1] if code else "0"})


async def serve(folder: str, password: str) -> None:
    app = web.Application(client_max_size=1_000_000_000)
    app.router.add_post("/", Door(folder, password).answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)  # noqa: T201 - whoever started this process reads it
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
