"""Names of a plug-in that are nearly those of an optional ability.

Optional abilities are found by their names: one that is misspelled is silently not there.
"""

import difflib
import inspect
from collections.abc import Iterable

# One letter of six that differs, or two of thirteen; `remove` is no `remote`.
_LIKENESS = 0.85


def near_misses(plugin: object, contract: type, optional: Iterable[type]) -> list[str]:
    """A complaint about each such name of a plug-in; `contract` and `optional` are its protocols."""
    abilities = {name: protocol for protocol in optional for name in _members(protocol)}
    own = {name for name in dir(plugin) if not name.startswith("_")}
    # What has its right name as well is spelled as it is meant.
    sought = abilities.keys() - own
    complaints: list[str] = []
    for name in sorted(own - abilities.keys() - _members(contract)):
        for close in difflib.get_close_matches(name, sought, n=1, cutoff=_LIKENESS):
            complaints.append(
                f"{name} is not used; did you mean {close} of {abilities[close].__name__}?"
            )
    return complaints


def _members(protocol: type) -> set[str]:
    """Names of the methods, properties and attributes that a protocol itself declares."""
    names = {*vars(protocol), *inspect.get_annotations(protocol)}
    return {name for name in names if not name.startswith("_")}
