"""Rows of `nvidia-smi -q -x` on memory errors and their repair: ECC, row remapping, retired pages."""

from accelwatch.schema.metrics import Series
from accelwatch_nvidia.mapping import REMAP_AVAILABILITY
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.text_row import COUNT, TextRow

_OLD_LOCATIONS = (
    ("device_memory", "dram"),
    ("register_file", "register_file"),
    ("l1_cache", "l1_cache"),
    ("l2_cache", "l2_cache"),
    ("texture_memory", "texture_memory"),
    ("texture_shm", "texture_shm"),
    ("cbu", "cbu"),
)

MEMORY_ERROR_ROWS: tuple[TextRow, ...] = (
    *(
        TextRow(
            ("ecc_location_errors_total", severity, location),
            (
                f"ecc_errors/volatile/{bits}/{tag}",
                *((f"ecc_errors/volatile/dram_{label}",) if location == "dram" else ()),
            ),
            COUNT,
            "ecc",
        )
        for severity, bits, label in (
            ("corrected", "single_bit", "correctable"),
            ("uncorrected", "double_bit", "uncorrectable"),
        )
        for tag, location in _OLD_LOCATIONS
    ),
    TextRow(
        ("ecc_location_errors_total", "corrected", "sram"),
        ("ecc_errors/volatile/sram_correctable",),
        COUNT,
        "ecc",
    ),
    TextRow(("memory_remapped_rows", "corrected"), ("remapped_rows/remapped_row_corr",), COUNT),
    TextRow(("memory_remapped_rows", "uncorrected"), ("remapped_rows/remapped_row_unc",), COUNT),
    *(
        TextRow(
            ("memory_remapped_rows_inactive", cause),
            (f"remapped_rows/remapped_row_{tag}_inactive",),
            COUNT,
            "ecc",
        )
        for tag, cause in (("corr", "corrected"), ("unc", "uncorrected"))
    ),
    *(
        TextRow(
            ("memory_row_remap_banks", availability),
            (f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{availability}",),
            COUNT,
            "ecc",
        )
        for availability in REMAP_AVAILABILITY
    ),
    TextRow(("memory_repair_failed",), ("remapped_rows/remapped_row_failure",), smi_text.flag),
    TextRow(("memory_unrepairable",), ("ecc_errors/unrepairable_memory",), smi_text.flag),
    TextRow(("compute_repair_pending",), ("ecc_errors/tpc_repair_pending",), smi_text.flag),
    TextRow(
        ("sram_error_threshold_exceeded",),
        ("ecc_errors/aggregate/sram_threshold_exceeded",),
        smi_text.flag,
    ),
    TextRow(
        ("memory_retired_pages", "single_bit"),
        ("retired_pages/multiple_single_bit_retirement/retired_count",),
        COUNT,
    ),
    TextRow(
        ("memory_retired_pages", "double_bit"),
        ("retired_pages/double_bit_retirement/retired_count",),
        COUNT,
    ),
)

# Totals that the document gives in parts: of the alternatives, the first whose tags all exist.
ECC_SUMS: tuple[tuple[Series, tuple[tuple[str, ...], ...]], ...] = tuple(
    (
        (key, severity),
        (
            (f"ecc_errors/{counter}/{bits}/total",),
            *(
                tuple(f"ecc_errors/{counter}/{tag}" for tag in tags)
                for tags in (
                    (f"dram_{label}", f"sram_{label}"),
                    (
                        f"dram_{label}",
                        f"sram_{label}_parity",
                        f"sram_{label}_secded",
                    ),
                )
            ),
        ),
    )
    for key, counter in (("ecc_errors_total", "volatile"), ("ecc_lifetime_errors", "aggregate"))
    for severity, bits, label in (
        ("corrected", "single_bit", "correctable"),
        ("uncorrected", "double_bit", "uncorrectable"),
    )
)

SRAM_UNCORRECTED = (
    ("ecc_errors/volatile/sram_uncorrectable",),
    (
        "ecc_errors/volatile/sram_uncorrectable_parity",
        "ecc_errors/volatile/sram_uncorrectable_secded",
    ),
)

REPAIR_PENDING = (
    "remapped_rows/remapped_row_pending",
    "retired_pages/pending_retirement",
    "retired_pages/pending_blacklist",
    "ecc_errors/channel_repair_pending",
)
