"""Connections of the servers of tests, ended with them."""

import asyncio

from aiohttp import web


async def end_connections(server: web.Server) -> None:
    """End those that clients have left: the loop of a test ends before TLS would have been shut down."""
    while connections := server.connections:
        for connection in connections:
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)
