"""numpy without the threads of its linear algebra, of which nothing here is made."""

import os

# Read by OpenBLAS when it is loaded (its README, "Setting the number of threads using environment
# variables"), which the wheels of numpy have in them.
_THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Load it, for a process that goes on; the environment's own setting is kept.

    OpenBLAS would begin a thread for every other processor, each of which looks for work for a tenth of
    a second of processor time, while everything else of a start wants to run, and then keeps its memory.
    What we start later, hooks and resumed jobs among it, must not have the variable.
    """
    mute = _THREADS not in os.environ
    if mute:
        os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        if mute:
            del os.environ[_THREADS]
