"""What amdgpu's counts of hardware errors mean, from any source: files, library, log or exporter.

Blocks: Linux drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c.
"""

# Blocks with an event code of their own; the others share one, to keep the codes few.
BLOCKS = frozenset(
    (
        *("umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn"),
        *("sem", "mp0", "mp1", "fuse", "mca", "vcn", "jpeg", "ih", "mpio", "mmsch"),
    )
)

# What each read of a block that runtime power management had put to sleep adds to its count.
#
# It is 16 times 65,535: the registers of a block that is asleep read as all ones.
BOGUS = 1_048_560


def event_code(block: str) -> str:
    """Code of an event about a block: `ras_umc`."""
    name = block.lower()
    return f"ras_{name if name in BLOCKS else 'other'}"


def believable(count: int, *, corrected: bool) -> bool:
    """Whether a count can be true.

    The driver adds what it read asleep to what was true before. Of corrected errors there may be any
    number, so only the very multiples are refused; a device with so many others would long have
    retired its memory.
    """
    if count < BOGUS:
        return count >= 0
    return corrected and count % BOGUS != 0
