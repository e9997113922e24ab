"""What is where in the firmware's telemetry table, revision by revision.

Source: `struct gpu_metrics_v*` and `enum amdgpu_metrics_attr_id` in Linux
drivers/gpu/drm/amd/include/kgd_pp_interface.h. Revisions of one format are not append-only.
"""

# Name, width code of `struct`, number of elements; 0 elements: a single number.
Field = tuple[str, str, int]

Layout = tuple[Field, ...]


def _h(names: str) -> Layout:
    return tuple((name, "H", 0) for name in names.split())


def _of(code: str, names: str, count: int = 0) -> Layout:
    return tuple((name, code, count) for name in names.split())


# Partitions that a table has room for, and compute dies of each.
XCP, _XCC = 8, 8

_TEMPERATURES_1 = _h(
    "temperature_edge temperature_hotspot temperature_mem"
    " temperature_vrgfx temperature_vrsoc temperature_vrmem"
)
_ACTIVITY_1 = _h("average_gfx_activity average_umc_activity average_mm_activity")
_CLOCKS_1 = _h(
    "average_gfxclk average_socclk average_uclk average_vclk0 average_dclk0 average_vclk1 average_dclk1"
    " current_gfxclk current_socclk current_uclk current_vclk0 current_dclk0 current_vclk1 current_dclk1"
)
_V1_0: Layout = (
    ("system_clock_counter", "Q", 0),
    *_TEMPERATURES_1,
    *_ACTIVITY_1,
    *_h("average_socket_power"),
    ("energy_accumulator", "I", 0),
    *_CLOCKS_1,
    ("throttle_status", "I", 0),
    *_h("current_fan_speed"),
    *_of("B", "pcie_link_width pcie_link_speed"),
)
_V1_1: Layout = (
    *_TEMPERATURES_1,
    *_ACTIVITY_1,
    *_h("average_socket_power"),
    *_of("Q", "energy_accumulator system_clock_counter"),
    *_CLOCKS_1,
    ("throttle_status", "I", 0),
    *_h("current_fan_speed pcie_link_width pcie_link_speed padding"),
    *_of("I", "gfx_activity_acc mem_activity_acc"),
    ("temperature_hbm", "H", 4),
)
_V1_2: Layout = (*_V1_1, ("firmware_timestamp", "Q", 0))
_V1_3: Layout = (
    *_V1_2,
    *_h("voltage_soc voltage_gfx voltage_mem padding"),
    ("indep_throttle_status", "Q", 0),
)

_HEAD_4 = _h(
    "temperature_hotspot temperature_mem temperature_vrsoc curr_socket_power"
    " average_gfx_activity average_umc_activity"
)
_CLOCKCOUNT = _of("Q", "energy_accumulator system_clock_counter")
_STATUS = _of("I", "throttle_status gfxclk_lock_status")
_RESIDENCIES = _of(
    "I",
    "accumulation_counter prochot_residency_acc ppt_residency_acc socket_thm_residency_acc"
    " vr_thm_residency_acc hbm_thm_residency_acc gfxclk_lock_status",
)
_LINKS = (
    *_h("pcie_link_width pcie_link_speed xgmi_link_width xgmi_link_speed"),
    *_of("I", "gfx_activity_acc mem_activity_acc"),
    *_of(
        "Q",
        "pcie_bandwidth_acc pcie_bandwidth_inst pcie_l0_to_recov_count_acc"
        " pcie_replay_count_acc pcie_replay_rover_count_acc",
    ),
)
_NAKS = _of("I", "pcie_nak_sent_count_acc pcie_nak_rcvd_count_acc")
_XGMI = _of("Q", "xgmi_read_data_acc xgmi_write_data_acc", 8)
_XGMI_STATUS: Layout = (("xgmi_link_status", "H", 8), ("padding", "H", 0))
_TAIL_4: Layout = (
    ("firmware_timestamp", "Q", 0),
    ("current_gfxclk", "H", 8),
    *_of("H", "current_socclk current_vclk0 current_dclk0", 4),
    ("current_uclk", "H", 0),
)


def _xcp(jpeg: int, accumulators: str) -> Layout:
    """Statistics of eight partitions, each with eight compute dies; names end in the number."""
    return tuple(
        field
        for number in range(XCP)
        for field in (
            (f"gfx_busy_inst_{number}", "I", _XCC),
            (f"jpeg_busy_{number}", "H", jpeg),
            (f"vcn_busy_{number}", "H", 4),
            *((f"{name}_{number}", "Q", _XCC) for name in accumulators.split()),
        )
    )


_V1_4: Layout = (
    *_HEAD_4,
    ("vcn_activity", "H", 4),
    *_CLOCKCOUNT,
    *_STATUS,
    *_LINKS,
    *_XGMI,
    *_TAIL_4,
)
_V1_5: Layout = (
    *_HEAD_4,
    ("vcn_activity", "H", 4),
    ("jpeg_activity", "H", 32),
    *_CLOCKCOUNT,
    *_STATUS,
    *_LINKS,
    *_NAKS,
    *_XGMI,
    *_TAIL_4,
)
_RECOVERY: Layout = (("pcie_lc_perf_other_end_recovery", "I", 0),)
_V1_6: Layout = (
    *_HEAD_4,
    *_CLOCKCOUNT,
    *_RESIDENCIES,
    *_LINKS,
    *_NAKS,
    *_XGMI,
    *_TAIL_4,
    *_h("num_partition"),
    *_xcp(32, "gfx_busy_acc"),
    *_RECOVERY,
)
_HEAD_7: Layout = (
    *_HEAD_4,
    ("mem_max_bandwidth", "Q", 0),
    *_CLOCKCOUNT,
    *_RESIDENCIES,
    *_LINKS,
    *_NAKS,
    *_XGMI,
    *_XGMI_STATUS,
    *_TAIL_4,
    *_h("num_partition"),
)
_V1_7: Layout = (*_HEAD_7, *_xcp(32, "gfx_busy_acc gfx_below_host_limit_acc"), *_RECOVERY)
_V1_8: Layout = (
    *_HEAD_7,
    *_xcp(
        40,
        "gfx_busy_acc gfx_below_host_limit_ppt_acc gfx_below_host_limit_thm_acc"
        " gfx_low_utilization_acc gfx_below_host_limit_total_acc",
    ),
    *_RECOVERY,
)

_TEMPERATURES_2: Layout = (
    *_h("temperature_gfx temperature_soc"),
    ("temperature_core", "H", 8),
    ("temperature_l3", "H", 2),
)
_ACTIVITY_2 = _h("average_gfx_activity average_mm_activity")
_REST_2: Layout = (
    *_h("average_socket_power average_cpu_power average_soc_power average_gfx_power"),
    ("average_core_power", "H", 8),
    *_h("average_gfxclk average_socclk average_uclk average_fclk average_vclk average_dclk"),
    *_h("current_gfxclk current_socclk current_uclk current_fclk current_vclk current_dclk"),
    ("current_coreclk", "H", 8),
    ("current_l3clk", "H", 2),
    ("throttle_status", "I", 0),
    *_h("fan_pwm"),
)
_CLOCK_COUNTER = _of("Q", "system_clock_counter")
_V2_0: Layout = (*_CLOCK_COUNTER, *_TEMPERATURES_2, *_ACTIVITY_2, *_REST_2)
_V2_1: Layout = (
    *_TEMPERATURES_2,
    *_ACTIVITY_2,
    *_CLOCK_COUNTER,
    *_REST_2,
    ("padding", "H", 3),
)
_V2_2: Layout = (*_V2_1, ("indep_throttle_status", "Q", 0))
_V2_3: Layout = (
    *_V2_2,
    *_h("average_temperature_gfx average_temperature_soc"),
    ("average_temperature_core", "H", 8),
    ("average_temperature_l3", "H", 2),
)
_V2_4: Layout = (
    *_V2_3,
    *_h("average_cpu_voltage average_soc_voltage average_gfx_voltage"),
    *_h("average_cpu_current average_soc_current average_gfx_current"),
)
_V3_0: Layout = (
    *_h("temperature_gfx temperature_soc"),
    ("temperature_core", "H", 16),
    *_h("temperature_skin average_gfx_activity average_vcn_activity"),
    ("average_ipu_activity", "H", 8),
    ("average_core_c0_activity", "H", 16),
    *_h("average_dram_reads average_dram_writes average_ipu_reads average_ipu_writes"),
    *_CLOCK_COUNTER,
    ("average_socket_power", "I", 0),
    ("average_ipu_power", "H", 0),
    *_of("I", "average_apu_power average_gfx_power average_dgpu_power average_all_core_power"),
    ("average_core_power", "H", 16),
    *_h("average_sys_power stapm_power_limit current_stapm_power_limit"),
    *_h("average_gfxclk average_socclk average_vpeclk average_ipuclk"),
    *_h("average_fclk average_vclk average_uclk average_mpipuclk"),
    ("current_coreclk", "H", 16),
    *_h("current_core_maxfreq current_gfx_maxfreq"),
    *_of(
        "I",
        "throttle_residency_prochot throttle_residency_spl throttle_residency_fppt"
        " throttle_residency_sppt throttle_residency_thm_core throttle_residency_thm_gfx"
        " throttle_residency_thm_soc time_filter_alphavalue",
    ),
)

# Fields behind the header, by format and content revision; each is aligned to its own width.
LAYOUTS: dict[tuple[int, int], Layout] = {
    (1, 0): _V1_0,
    (1, 1): _V1_1,
    (1, 2): _V1_2,
    (1, 3): _V1_3,
    (1, 4): _V1_4,
    (1, 5): _V1_5,
    (1, 6): _V1_6,
    (1, 7): _V1_7,
    (1, 8): _V1_8,
    (2, 0): _V2_0,
    (2, 1): _V2_1,
    (2, 2): _V2_2,
    (2, 3): _V2_3,
    (2, 4): _V2_4,
    (3, 0): _V3_0,
}


# `enum amdgpu_metrics_attr_id`, as the older tables name the same quantities.
ATTRIBUTE_NAMES = (
    *("temperature_hotspot", "temperature_mem", "temperature_vrsoc", "curr_socket_power"),
    *("average_gfx_activity", "average_umc_activity", "mem_max_bandwidth"),
    *("energy_accumulator", "system_clock_counter", "accumulation_counter"),
    *("prochot_residency_acc", "ppt_residency_acc", "socket_thm_residency_acc"),
    *("vr_thm_residency_acc", "hbm_thm_residency_acc", "gfxclk_lock_status"),
    *("pcie_link_width", "pcie_link_speed", "xgmi_link_width", "xgmi_link_speed"),
    *("gfx_activity_acc", "mem_activity_acc", "pcie_bandwidth_acc", "pcie_bandwidth_inst"),
    *("pcie_l0_to_recov_count_acc", "pcie_replay_count_acc", "pcie_replay_rover_count_acc"),
    *("pcie_nak_sent_count_acc", "pcie_nak_rcvd_count_acc"),
    *("xgmi_read_data_acc", "xgmi_write_data_acc", "xgmi_link_status", "firmware_timestamp"),
    *("current_gfxclk", "current_socclk", "current_vclk0", "current_dclk0", "current_uclk"),
    *("num_partition", "pcie_lc_perf_other_end_recovery"),
    *("gfx_busy_inst", "jpeg_activity", "vcn_activity", "gfx_busy_acc"),
)

ALWAYS_ARRAYS = frozenset(
    {
        *("xgmi_read_data_acc", "xgmi_write_data_acc", "xgmi_link_status"),
        *("gfx_busy_inst", "jpeg_activity", "vcn_activity"),
    }
)
