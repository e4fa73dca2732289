"""Ends of listening that leave no socket behind."""

from __future__ import annotations

import asyncio


async def end_listening(*servers: asyncio.Server) -> None:
    """Close servers so that whatever they accepted is a connection of their protocol, for the caller to end.

    `Server.close` alone drops what was accepted in the same turn of the loop: its transport finds no server
    any more, and the socket stays open until it is collected.
    """
    loop = asyncio.get_running_loop()
    for server in servers:
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    for _ in range(4):  # accepted; a task of the loop; the transport; connection_made
        await asyncio.sleep(0)
    for server in servers:
        server.close()
