"""The stand-in's survey hook: prints what its scheduler shows of all nodes. Exit code 75: no answer."""

import argparse
import os
import sys
from http.client import HTTPConnection, HTTPException

_TIMEOUT_S = 2.0


def main() -> int:
    """Ask once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="HOST:PORT")
    options = parser.parse_args()
    connection = HTTPConnection(options.address, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/nodes")
        text = connection.getresponse().read()
    except (OSError, HTTPException) as error:
        sys.stderr.write(f"{options.address} does not answer: {error!r}\n")
        return os.EX_TEMPFAIL
    finally:
        connection.close()
    sys.stdout.buffer.write(text + b"\n")
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
