"""The command neuron-ls: with which arguments it runs."""

from pathlib import Path

from accelwatch.backend.kit.polled import TIMEOUT_S
from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.system.processes.complete_output import closed, parsed
from accelwatch_neuron.listing import Entry, parse

# Of releases up to 2.33, from 2.34 on, and the tables of those without JSON.
_FORMS: tuple[tuple[str, ...], ...] = (
    ("--json-output",),
    ("--output-format", "json"),
    ("--show-all-procs",),
    (),
)


class Program:
    """Remembers the form that works."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._form: tuple[str, ...] | None = None

    def __call__(self) -> dict[int, Entry]:
        """Entries by index. Raises ReadError."""
        forms = _FORMS if self._form is None else (self._form,)
        refused: ReadError | None = None
        for form in forms:
            try:
                listing = parse(self._run(form, TIMEOUT_S / min(2, len(forms))))
            except DeviceTimeout:
                raise
            except ReadError as error:
                refused = refused or error
                continue
            self._form = form
            return listing
        self._form = None
        assert refused is not None
        raise refused

    def _run(self, form: tuple[str, ...], timeout_s: float) -> bytes:
        make_check = parsed if any("json" in argument for argument in form) else closed
        return output_of(self._path, *form, timeout_s=timeout_s, is_complete=make_check(parse))
