"""What the table does not have, asked chip by chip: ECC, links, error codes, on wish loads and clocks.

A run of npu-smi takes 0.3 to 1 s, so a round asks one chip only for each of these; in between, a chip
keeps what it told last. Loads, clocks and the temperature of the memory would be old by then: they are
asked of all chips, or of none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch_ascend.document import Chip, Detail, Key, Pairs, Told, parse_pairs, word

HEALTHY = "OK"
_MAX_ERRORS = 400
Run = Callable[..., bytes]
"""Runs npu-smi with these arguments and gives what it prints. Raises ReadError."""


class Details:
    """Remembers what each chip told; used by one thread."""

    def __init__(self, run: Run, *, usages: bool) -> None:
        """`usages`: ask every chip for its loads and clocks in every round."""
        self._run = run
        self._usages = usages
        self._known: dict[Key, Detail] = {}
        self._asked: dict[str, Key | None] = {}
        """The chip that was asked last, by what it was asked for."""

    def round(self, chips: Sequence[Chip]) -> Mapping[Key, Detail]:
        """Ask what is due, and tell what is known of these chips."""
        by_key = {chip.key: chip for chip in chips}
        self._known = {key: self._known.get(key, Detail()) for key in by_key}
        if (chip := self._next("ecc", by_key, by_key)) is not None:
            self._keep(chip.key, ecc=self._told(chip, "ecc"))
        linked = [key for key in by_key if self._known[key].links is not Absence.UNSUPPORTED]
        if (chip := self._next("hccs", linked, by_key)) is not None:
            self._keep(chip.key, links=self._told(chip, "hccs"))
        self._ask_errors(by_key)
        for chip in chips if self._usages else ():
            self._keep(chip.key, usages=self._loads(chip))
        return dict(self._known)

    def _next(self, kind: str, keys: Iterable[Key], by_key: Mapping[Key, Chip]) -> Chip | None:
        """The chip whose turn it is to be asked for this."""
        self._asked[kind] = key = _after(self._asked.get(kind), keys)
        return None if key is None else by_key[key]

    def _ask_errors(self, by_key: Mapping[Key, Chip]) -> None:
        unhealthy = [
            key for key, chip in by_key.items() if chip.text("health") not in (None, HEALTHY)
        ]
        for key in self._known.keys() - set(unhealthy):
            self._keep(key, errors=None)
        if (chip := self._next("health", unhealthy, by_key)) is not None:
            told = self._told(chip, "health")
            self._keep(chip.key, errors=None if isinstance(told, Absence) else _errors(told))

    def _keep(self, key: Key, **told: Told | str | None) -> None:
        self._known[key] = msgspec.structs.replace(self._known[key], **told)

    def _loads(self, chip: Chip) -> Told:
        """What the three lists tell together; where one fails, what the others tell."""
        lists = [self._told(chip, kind) for kind in ("memory", "common", "usages")]
        told = [pairs for pairs in lists if not isinstance(pairs, Absence)]
        failures = [pairs for pairs in lists if isinstance(pairs, Absence)]
        return {key: text for pairs in told for key, text in pairs.items()} if told else failures[0]

    def _told(self, chip: Chip, kind: str) -> Told:
        """Why, where the chip does not tell this: the table stands without it."""
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


def _errors(told: Pairs) -> str | None:
    codes, text = word(told.get("error code")), word(told.get("error information"))
    if codes is None:
        return None
    return f"{codes}: {text}"[:_MAX_ERRORS] if text else codes[:_MAX_ERRORS]
