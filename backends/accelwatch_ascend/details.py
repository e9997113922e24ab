"""What the table does not have, asked chip by chip: ECC, error codes, and on wish bandwidth and clocks.

A run of npu-smi takes 0.3 to 1 s, so a round asks one chip only for each of these; in between, a chip
keeps what it told last. Loads and clocks would be old by then: they are asked of all chips, or of none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from accelwatch.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.absence import Absence
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
        self._asked_ecc: Key | None = None
        self._asked_errors: Key | None = None

    def round(self, chips: Sequence[Chip]) -> Mapping[Key, Detail]:
        """Ask what is due, and tell what is known of these chips."""
        self._known = {chip.key: self._known.get(chip.key, Detail()) for chip in chips}
        self._ask_ecc(chips)
        self._ask_errors(chips)
        for chip in chips if self._usages else ():
            self._keep(chip.key, usages=self._loads(chip.key))
        return dict(self._known)

    def _ask_ecc(self, chips: Sequence[Chip]) -> None:
        self._asked_ecc = _after(self._asked_ecc, (chip.key for chip in chips))
        if self._asked_ecc is not None:
            self._keep(self._asked_ecc, ecc=self._told(self._asked_ecc, "ecc"))

    def _ask_errors(self, chips: Sequence[Chip]) -> None:
        unhealthy = [chip.key for chip in chips if chip.text("health") not in (None, HEALTHY)]
        for key in self._known.keys() - set(unhealthy):
            self._keep(key, errors=None)
        self._asked_errors = _after(self._asked_errors, unhealthy)
        if self._asked_errors is not None:
            told = self._told(self._asked_errors, "health")
            errors = None if isinstance(told, Absence) else _errors(told)
            self._keep(self._asked_errors, errors=errors)

    def _keep(self, key: Key, **told: Told | str | None) -> None:
        self._known[key] = msgspec.structs.replace(self._known[key], **told)

    def _loads(self, key: Key) -> Told:
        """What `common` and `usages` tell together; where one fails, what the other tells."""
        common, usages = self._told(key, "common"), self._told(key, "usages")
        if isinstance(common, Absence) or isinstance(usages, Absence):
            return usages if isinstance(common, Absence) else common
        return {**common, **usages}

    def _told(self, key: Key, kind: str) -> Told:
        """Why, where the chip does not tell this: the table stands without it."""
        npu, chip = key
        try:
            return parse_pairs(self._run("info", "-t", kind, "-i", str(npu), "-c", str(chip)))
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
