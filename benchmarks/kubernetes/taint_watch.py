"""When a watch of the nodes shows each one's taint: `taint_watch.py FOLDER`, in a process of its own.

FOLDER is that of the stand-in of an API server; a line of `seen.jsonl` there is a node and Unix seconds.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import time
from pathlib import Path

import aiohttp

from accelwatch_lab.cluster.kubernetes.access import Account, access_of

TAINT = "accelwatch.io/quarantine"
SEEN = "seen.jsonl"


@contextlib.asynccontextmanager
async def session_of(folder: Path):  # type: ignore[no-untyped-def]
    """Requests as the administrator."""
    access = access_of(folder, Account.ADMIN)
    headers = {"Authorization": f"Bearer {access.token}"}
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=access.ca_file))
    async with aiohttp.ClientSession(access.url, headers=headers, connector=connector) as session:
        yield session


async def watched(folder: Path) -> None:
    """Write down when the taint of each node is seen first."""
    seen: set[str] = set()
    timeout = aiohttp.ClientTimeout(total=None)
    async with session_of(folder) as session:
        async with session.get("/api/v1/nodes?limit=1") as answer:
            version = (await answer.json())["metadata"]["resourceVersion"]
        path = f"/api/v1/nodes?watch=1&resourceVersion={version}&timeoutSeconds=600"
        async with session.get(path, timeout=timeout) as answer:
            with (folder / SEEN).open("a", buffering=1) as out:
                async for line in answer.content:
                    now = time.time()
                    document = json.loads(line)["object"]
                    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
                    name = document["metadata"]["name"]
                    if TAINT in keys and name not in seen:
                        seen.add(name)
                        out.write(f"{json.dumps([name, now])}\n")


if __name__ == "__main__":
    asyncio.run(watched(Path(sys.argv[1])))
