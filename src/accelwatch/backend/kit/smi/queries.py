"""Queries a relative of nvidia-smi: with its fullest query first, by its table at the least."""

from collections.abc import Callable, Sequence

from accelwatch.backend.kit.smi.listing import Gpu, Listing
from accelwatch.backend.kit.smi.vendor import Query
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.system.processes.complete_output import closed, parsed

# May raise ReadError.
Parse = Callable[[bytes], Listing]


class Queries:
    """Remembers which query the command knows.

    `run` is given arguments and a judge of what a run that fails has printed, and may raise ReadError.
    """

    def __init__(
        self, run: Callable[..., bytes], queries: Sequence[Query], parse_table: Parse
    ) -> None:
        """`queries` are tried in order; the table, without arguments, comes with and after them."""
        self._run = run
        self._queries = tuple(queries)
        self._parse_table = parse_table
        # Index of the query that worked; past the last there is only the table.
        self._working_index = 0

    def query(self) -> Listing:
        """What the fullest query says, and what the table adds: processes as a rule.

        Raises ReadError: of several failures the first.
        """
        first: ReadError | None = None
        for at in range(self._working_index, len(self._queries)):
            arguments, parse = self._queries[at].arguments, self._queries[at].format.parse
            try:
                listing = parse(self._run(*arguments, is_complete=parsed(parse, _gpus)))
            except (DeviceTimeout, DevicePermission):
                raise
            except ReadError as error:
                first = first or error
            else:
                self._working_index = at
                return self._completed(listing)
        try:
            listing = self._table()
        except ReadError as error:
            raise first or error from None
        self._working_index = len(self._queries)
        return listing

    def _table(self) -> Listing:
        return self._parse_table(self._run(is_complete=closed(self._parse_table, _gpus)))

    def _completed(self, listing: Listing) -> Listing:
        try:
            return listing.completed(self._table())
        except ReadError:
            return listing


def _gpus(listing: Listing) -> tuple[Gpu, ...]:
    return listing.gpus
