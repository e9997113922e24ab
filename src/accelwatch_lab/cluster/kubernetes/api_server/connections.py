"""The connections of a server that stops."""

import asyncio

from aiohttp import web

# Turns of the loop in which a connection that was aborted ends: two, and some for requests under way.
_TURNS = 10


async def end_connections(server: web.Server) -> None:
    """End those that clients have left open, or have just left.

    Their loop ends before TLS would have been shut down, which waits for the client's part of it.
    """
    for _ in range(_TURNS):
        for connection in server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)
