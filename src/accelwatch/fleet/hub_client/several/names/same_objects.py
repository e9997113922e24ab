"""Whether a result is still made of the same objects."""

from collections.abc import Sequence


def same_objects(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether both are of the very same objects, in the same order."""
    return len(new) == len(old) and all(
        first is second for first, second in zip(new, old, strict=True)
    )
