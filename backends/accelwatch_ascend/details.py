"""What the table does not have, read chip by chip: ECC, links, error codes, on wish loads and clocks.

A run of npu-smi lasts 0.3 to 1 s, so a round reads one chip only for each of these; in between, a
chip keeps its last values. Loads, clocks and memory temperature would be old by then: they are
read from all chips, or from none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch_ascend.document import (
    Chip,
    Detail,
    Key,
    Pairs,
    PairsOrAbsence,
    meaningful_text,
    parse_pairs,
)

HEALTHY = "OK"
_MAX_ERRORS = 400
# Runs npu-smi with these arguments and gives what it prints. Raises ReadError.
Run = Callable[..., bytes]


class Details:
    """Remembers what each chip reported; used by one thread."""

    def __init__(self, run: Run, *, usages: bool) -> None:
        """`usages`: query every chip for its loads and clocks in every round."""
        self._run = run
        self._usages = usages
        self._details: dict[Key, Detail] = {}
        # The chip that was read last, by kind of query.
        self._last_queried: dict[str, Key | None] = {}

    def round(self, chips: Sequence[Chip]) -> Mapping[Key, Detail]:
        """Query what is due, and return what is known of these chips."""
        by_key = {chip.key: chip for chip in chips}
        self._details = {key: self._details.get(key, Detail()) for key in by_key}
        if (chip := self._next("ecc", by_key, by_key)) is not None:
            self._update(chip.key, ecc=self._read_pairs(chip, "ecc"))
        linked = [key for key in by_key if self._details[key].links is not Absence.UNSUPPORTED]
        if (chip := self._next("hccs", linked, by_key)) is not None:
            self._update(chip.key, links=self._read_pairs(chip, "hccs"))
        self._query_errors(by_key)
        for chip in chips if self._usages else ():
            self._update(chip.key, usages=self._loads(chip))
        return dict(self._details)

    def _next(self, kind: str, keys: Iterable[Key], by_key: Mapping[Key, Chip]) -> Chip | None:
        """The chip that is next for this query."""
        self._last_queried[kind] = key = _after(self._last_queried.get(kind), keys)
        return None if key is None else by_key[key]

    def _query_errors(self, by_key: Mapping[Key, Chip]) -> None:
        unhealthy = [
            key for key, chip in by_key.items() if chip.text("health") not in (None, HEALTHY)
        ]
        for key in self._details.keys() - set(unhealthy):
            self._update(key, errors=None)
        if (chip := self._next("health", unhealthy, by_key)) is not None:
            pairs = self._read_pairs(chip, "health")
            self._update(chip.key, errors=None if isinstance(pairs, Absence) else _errors(pairs))

    def _update(self, key: Key, **fields: PairsOrAbsence | str | None) -> None:
        self._details[key] = msgspec.structs.replace(self._details[key], **fields)

    def _loads(self, chip: Chip) -> PairsOrAbsence:
        """What the three lists say together; where one fails, what the others say."""
        lists = [self._read_pairs(chip, kind) for kind in ("memory", "common", "usages")]
        reported = [pairs for pairs in lists if not isinstance(pairs, Absence)]
        failures = [pairs for pairs in lists if isinstance(pairs, Absence)]
        return (
            {key: text for pairs in reported for key, text in pairs.items()}
            if reported
            else failures[0]
        )

    def _read_pairs(self, chip: Chip, kind: str) -> PairsOrAbsence:
        """Why, where the chip does not report this: the table stands without it."""
        try:
            return parse_pairs(self._run("info", "-t", kind, *chip.address))
        except DeviceTimeout:
            return Absence.TIMEOUT
        except DevicePermission:
            return Absence.PERMISSION
        except ReadError:
            return Absence.UNSUPPORTED


def _after(last: Key | None, keys: Iterable[Key]) -> Key | None:
    """The next in turn; None when there is none."""
    inorder = sorted(keys)
    if not inorder:
        return None
    return next((key for key in inorder if last is None or key > last), inorder[0])


def _errors(pairs: Pairs) -> str | None:
    codes, text = (
        meaningful_text(pairs.get("error code")),
        meaningful_text(pairs.get("error information")),
    )
    if codes is None:
        return None
    return f"{codes}: {text}"[:_MAX_ERRORS] if text else codes[:_MAX_ERRORS]
