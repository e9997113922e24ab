"""The only module that imports pynvml: typed calls, return codes turned into absences or ReadError."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Number
from accelwatch_nvidia import returns
from accelwatch_nvidia.nvml import field_values
from accelwatch_nvidia.nvml.field_values import FieldPair
from accelwatch_nvidia.nvml.library import Handle, Library

# More than any machine holds; a count above it is no count.
MAX_GPUS = 1024


def import_library() -> Library:
    """The pynvml module. It loads libnvidia-ml.so.1 on `nvmlInit`, not on import."""
    import pynvml

    library: Library = pynvml
    return library


def code_of(error: Exception) -> int:
    """Return code inside an NVMLError."""
    return int(getattr(error, "value", returns.UNKNOWN))


class Nvml:
    """NVML of this process: started once, started again after the driver was reloaded."""

    def __init__(self, library: Library) -> None:
        self.library = library
        # Grows at each start; handles of an older generation are void.
        self.generation = 0
        self._started = False
        # Start, stop and generation change together: a reader must not get a handle of a library
        # that another thread shuts down.
        self._lock = threading.Lock()

    def start(self) -> None:
        """Initialise NVML if it is not. Raises BackendUnavailable."""
        with self._lock:
            if self._started:
                return
            try:
                self.library.nvmlInit()
            except self.library.NVMLError as error:
                raise returns.unavailable(code_of(error), "nvmlInit") from error
            self._started = True
            self.generation += 1

    def stop(self) -> None:
        """Shut NVML down; a failure of that is of no interest."""
        with self._lock:
            if not self._started:
                return
            self._started = False
            try:
                self.library.nvmlShutdown()
            except self.library.NVMLError:
                return

    def count(self) -> int:
        """Number of GPUs; NVML is started again when its driver went. Raises BackendUnavailable."""
        count = self._count()
        if count > MAX_GPUS:
            raise BackendUnavailable(
                f"NVML speaks of {count} GPUs",
                reason="implausible_count",
                remedy="the driver is in a state that only a reboot fixes",
            )
        return count

    def _count(self) -> int:
        self.start()
        try:
            return int(self.library.nvmlDeviceGetCount())
        except self.library.NVMLError as error:
            if code_of(error) not in returns.STACK_GONE:
                raise returns.unavailable(code_of(error), "nvmlDeviceGetCount") from error
        self.stop()
        self.start()
        try:
            return int(self.library.nvmlDeviceGetCount())
        except self.library.NVMLError as error:
            raise returns.unavailable(code_of(error), "nvmlDeviceGetCount") from error

    def versions(self) -> dict[str, str]:
        """Versions of driver, library and CUDA, as far as NVML gives them."""
        versions: dict[str, str] = {}
        library = self.library
        for key, call in (
            ("driver", library.nvmlSystemGetDriverVersion),
            ("nvml", library.nvmlSystemGetNVMLVersion),
            ("cuda", library.nvmlSystemGetCudaDriverVersion),
        ):
            try:
                raw: str | int = call()
            except library.NVMLError:
                continue
            versions[key] = f"{raw // 1000}.{raw % 1000 // 10}" if isinstance(raw, int) else raw
        return versions


class DeviceCalls:
    """Calls on one device handle, with a memory of what it does not support.

    `query` gives a value or an absence. Only answers that void the whole device raise: a lost GPU, an
    unloaded driver.
    """

    def __init__(self, nvml: Nvml, handle: Handle, device: str) -> None:
        self.nvml = nvml
        self.library = nvml.library
        self.handle = handle
        self.generation = nvml.generation
        self._device = device
        self._unsupported: set[tuple[object, ...]] = set()
        # Codes, other than permanent ones, that calls gave since `begin`.
        self.codes: set[int] = set()

    def clear_codes(self) -> None:
        """Forget the codes of the read before."""
        self.codes.clear()

    def forget(self) -> None:
        """Query again what was unsupported, as after a change of the MIG mode."""
        self._unsupported.clear()

    def query(self, function: str, *args: object) -> Any:
        """Result of `function(handle, *args)`, or the absence its return code stands for."""
        key = (function, *args)
        if key in self._unsupported:
            return Absence.UNSUPPORTED
        call = self._function(function)
        if call is None:
            return self.absence_of(returns.FUNCTION_NOT_FOUND, key)
        try:
            return call(self.handle, *args)
        except self.library.NVMLError as error:
            return self.absence_of(code_of(error), key)
        except UnicodeDecodeError:
            return Absence.ERROR

    def _function(self, name: str) -> Callable[..., Any] | None:
        """A function of the binding; an older binding lacks what came later, as an older driver does."""
        call: Callable[..., Any] | None = getattr(self.library, name, None)
        return call

    def fill(self, function: str, *args: Any, variant: str = "") -> Absence | None:
        """Call `function(handle, *args)`, which fills a structure it is given; None when it did.

        `variant` names the version of the structure: a driver may know one and not another.
        """
        key = (function, variant)
        if key in self._unsupported:
            return Absence.UNSUPPORTED
        call = self._function(function)
        if call is None:
            return self.absence_of(returns.FUNCTION_NOT_FOUND, key)
        try:
            call(self.handle, *args)
        except self.library.NVMLError as error:
            return self.absence_of(code_of(error), key)
        return None

    def structure(self, function: str, names: Sequence[str]) -> Any:
        """The first structure of these that binding and driver know, filled, or why there is none."""
        why: Absence = Absence.UNSUPPORTED
        for name in names:
            make = self._function(name)
            if make is None:
                continue
            filled = make()
            refusal = self.fill(function, ctypes.byref(filled), variant=name)
            if refusal is None:
                return filled
            why = refusal if refusal is not Absence.UNSUPPORTED else why
        return why

    def first(self, functions: Sequence[str], *args: object) -> Any:
        """Answer of the first function that this driver has and the device supports."""
        answer: Any = Absence.UNSUPPORTED
        for function in functions:
            answer = self.query(function, *args)
            if answer is not Absence.UNSUPPORTED:
                break
        return answer

    def fields(self, requested: Sequence[FieldPair]) -> dict[FieldPair, Number | Absence]:
        """Values of (field id, scope id) pairs, by one call; unsupported ones are not queried again."""
        answers: dict[FieldPair, Number | Absence] = dict.fromkeys(requested, Absence.UNSUPPORTED)
        pending = tuple(pair for pair in requested if pair not in self._unsupported)
        if pending:
            self._query_fields(pending, answers)
        return answers

    def _query_fields(
        self, pairs: tuple[FieldPair, ...], answers: dict[FieldPair, Number | Absence]
    ) -> None:
        """Query the driver; where it refuses the whole list for one unknown field, query in halves."""
        call = self.symbol(field_values.NAME)
        if call is None:
            return
        code, answer = field_values.query(call, self.handle, pairs)
        if code != returns.SUCCESS:
            if code != returns.INVALID_ARGUMENT:
                answers.update(dict.fromkeys(pairs, self._absence_of_all(code, pairs)))
            elif len(pairs) == 1:
                self._unsupported.add(pairs[0])
            else:
                middle = len(pairs) // 2
                self._query_fields(pairs[:middle], answers)
                self._query_fields(pairs[middle:], answers)
            return
        for pair, (own, value) in zip(pairs, answer, strict=True):
            if own == returns.SUCCESS:
                answers[pair] = value
            elif own == returns.INVALID_ARGUMENT:
                self._unsupported.add(pair)
            else:
                answers[pair] = self.absence_of(own, pair)

    def _absence_of_all(self, code: int, pairs: tuple[FieldPair, ...]) -> Absence:
        if code in returns.PERMANENT:
            self._unsupported.update(pairs)
        return self.absence_of(code, (field_values.NAME,))

    def symbol(self, function: str) -> Callable[..., int] | None:
        """The library's own function, which returns a code; None where the device has none."""
        if (function,) in self._unsupported:
            return None
        call: Callable[..., int] | None = getattr(self.library.nvmlLib, function, None)
        return call

    def absence_of(self, code: int, key: tuple[object, ...]) -> Absence:
        """The absence that a return code stands for. Raises ReadError when the device is lost."""
        if code in returns.PERMANENT:
            self._unsupported.add(key)
            return Absence.UNSUPPORTED
        if code == returns.GPU_IS_LOST or code in returns.STACK_GONE:
            raise self.failure(code, str(key[0]))
        self.codes.add(code)
        return returns.absence(code)

    def failure(self, code: int, doing: str) -> ReadError:
        """The exception for this device and code."""
        return returns.failure(code, self._device, doing)
