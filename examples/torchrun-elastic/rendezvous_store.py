"""Hosts the store of torchrun's rendezvous, so that every node of the job may leave: ADDRESS PORT.

With `--rdzv-backend=c10d` the store is otherwise in the torchrun of the node that
`--rdzv-endpoint` names, and that node's leaving ends the job for all. Runs until it is ended, on a
machine that is no node of the job.
"""

import signal
import sys

from torch.distributed import TCPStore


def main() -> None:
    """Serve."""
    address, port = sys.argv[1:]
    store = TCPStore(address, int(port), is_master=True, wait_for_workers=False)
    print(f"serving on {store.host}:{store.port}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
