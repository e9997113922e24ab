"""Composed messages of each accelerator driver, in the wording of its source."""

from accelwatch.schema.event import Category

# A text, and the code, category and subject that it stands for.
Composed = tuple[str, str, Category, str]

_AMD = "amdgpu 0000:c1:00.0: amdgpu: "
_XE = "xe 0000:03:00.0: [drm] "
_MES = "[drm:mes_v11_0_submit_pkt_and_poll_completion.constprop.0 [amdgpu]] *ERROR* "

NVIDIA: list[Composed] = [
    (
        "NVRM: Xid (PCI:0000:65:00 GPU-I:05): 43, pid='1234', name=python, Ch 00000008",
        "xid_43",
        Category.APPLICATION,
        "0000:65:00.0",
    ),
    (
        "NVRM: Xid (PCI:0000:65:00 GPU-I:05 GPU-CI:00): 43, pid=1234, name=python, Ch 00000008",
        "xid_43",
        Category.APPLICATION,
        "0000:65:00.0",
    ),
    ("NVRM: Xid (0004:00): 13, 0001 00000000", "xid_13", Category.APPLICATION, ""),
    (
        "NVRM: GPU at 0000:65:00.0 has fallen off the bus.",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "NVRM: The NVIDIA GPU 0000:65:00.0\n"
        "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands.",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:2330)\n"
        "NVRM: installed in this system has fallen off the bus and is not responding to commands.",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "NVRM: GPU at PCI:0000:65:00: GPU has fallen off the bus",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    ("NVRM: Xid (PCI:00000000:65:00): 46, stuck", "xid_46", Category.HANG, "0000:65:00.0"),
    ("NVRM: Xid (PCI:0000:65:00): 999, new", "xid_999", Category.OTHER, "0000:65:00.0"),
    (
        "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 22003, Non-fatal, Link 00 x",
        "sxid_22003",
        Category.LINK_FATAL,
        "0000:06:00.0",
    ),
    (
        "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:65:00 (printing 1 of every 30)."
        "  The GPU likely needs to be reset.",
        "nvidia_gsp_rpc_failing",
        Category.FIRMWARE,
        "0000:65:00.0",
    ),
    ("NVRM: RmInitAdapter failed! (0x25:0xffff:1480)", "nvidia_init_failed", Category.FIRMWARE, ""),
]

AMD: list[Composed] = [
    (
        "amdgpu 0000:c1:00.0: [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx "
        "timeout, signaled",
        "amdgpu_ring_timeout",
        Category.HANG,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}MES failed to response msg=3",
        "amdgpu_mes_timeout",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (f"{_MES}MES failed to response msg=14", "amdgpu_mes_timeout", Category.FIRMWARE, ""),
    (f"{_AMD}device lost from bus!", "amdgpu_device_lost", Category.BUS, "0000:c1:00.0"),
    (
        f"{_AMD}ERROR: GPU over temperature range(SW CTF) detected!",
        "amdgpu_over_temperature",
        Category.THERMAL,
        "0000:c1:00.0",
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* Process information: process Xorg pid 812 "
        "thread Xorg:cs0 pid 830",
        "amdgpu_process",
        Category.APPLICATION,
        "",
    ),
    (
        f"{_AMD} Process python3 pid 4711 thread python3 pid 4711",
        "amdgpu_process",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    ("amdgpu: qcm fence wait loop timeout expired", "amdgpu_queue_stuck", Category.HANG, ""),
    (
        f"{_AMD}ring sdma0 timeout, but soft recovered",
        "amdgpu_ring_recovered",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012 "
        "SMN_C2PMSG_82:0x00000005",
        "amdgpu_smu_timeout",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}SMU: No response msg_reg: 12 resp_reg: 0",
        "amdgpu_smu_timeout",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        "amdgpu 0000:c1:00.0: [drm:amdgpu_ib_ring_tests [amdgpu]] *ERROR* IB test failed on vpe (-110).",
        "amdgpu_ring_test_failed",
        Category.HANG,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}ib ring test failed (-110).",
        "amdgpu_ring_test_failed",
        Category.HANG,
        "0000:c1:00.0",
    ),
    (f"{_AMD}Fatal error during GPU init", "amdgpu_init_failed", Category.FIRMWARE, "0000:c1:00.0"),
    (
        "amdgpu 0000:c1:00.0: hw_init of IP block <psp> failed -22",
        "amdgpu_init_failed",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}resume of IP block <smu> failed -5",
        "amdgpu_resume_failed",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}amdgpu_device_ip_resume failed (-5).",
        "amdgpu_resume_failed",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        "amdgpu: probe of 0000:c1:00.0 failed with error -12",
        "driver_probe_failed",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        "habanalabs 0000:c1:00.0: probe with driver habanalabs failed with error -5",
        "driver_probe_failed",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}Ring gfx_0.0.0 reset succeeded",
        "amdgpu_ring_reset",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    (f"{_AMD}GPU reset(2) succeeded!", "amdgpu_reset_succeeded", Category.OTHER, "0000:c1:00.0"),
    (f"{_AMD}GPU reset end with ret = -110", "amdgpu_reset_failed", Category.HANG, "0000:c1:00.0"),
    (
        f"{_AMD}socket: 0, die: 1, 3 new uncorrectable hardware errors detected in umc block",
        "ras_umc",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}2 deferred hardware errors detected in total in umc block",
        "ras_umc",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}1 uncorrectable hardware errors detected in total in newblock block",
        "ras_other",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}{{7}}socket: 0, die: 1, 3 uncorrectable hardware errors detected in total in umc block",
        "ras_umc",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}{{7}} RAS poison is created, no user action is needed.",
        "ras_poison",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}{{9}} socket: 0, die: 1, 2 new poison consumption detected in gfx block",
        "ras_gfx",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}RAS records:261 exceed threshold:256",
        "amdgpu_bad_pages_threshold",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}RAS records:261 exceed threshold:256, GPU will not be initialized. "
        "Replace this GPU or increase the threshold",
        "amdgpu_bad_pages_threshold",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}RAS records:230 exceeds 90% of threshold:256",
        "amdgpu_bad_pages_near_threshold",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}MES(1) failed to respond to msg=REMOVE_QUEUE",
        "amdgpu_mes_timeout",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        f"{_AMD}[gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32773)",
        "amdgpu_page_fault",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=9, "
        "emitted seq=9",
        "amdgpu_ring_timeout",
        Category.HANG,
        "",
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* GPU Recovery Failed: -110",
        "amdgpu_reset_failed",
        Category.HANG,
        "",
    ),
    (
        "amdgpu 0000:c1:00.0: [drm] device wedged, but no recovery needed",
        "drm_wedged_recovered",
        Category.OTHER,
        "0000:c1:00.0",
    ),
    (f"{_AMD}Poison is created", "ras_poison", Category.MEMORY_CONTAINED, "0000:c1:00.0"),
    (
        "amdgpu 0000:c1:00.0: [drm] device wedged, but recovered through reset",
        "drm_wedged_recovered",
        Category.OTHER,
        "0000:c1:00.0",
    ),
]

INTEL: list[Composed] = [
    (
        "i915 0000:00:02.0: [drm] *ERROR* Device initialization failed (-5)",
        "i915_init_failed",
        Category.FIRMWARE,
        "0000:00:02.0",
    ),
    (
        f"{_XE}GT0: Fault response: Unsuccessful -EINVAL",
        "xe_page_fault",
        Category.APPLICATION,
        "0000:03:00.0",
    ),
    (
        f"{_XE}GT1: Engine memory CAT error [18]: class=ccs, logical_mask: 0x1, guc_id=4",
        "xe_page_fault",
        Category.APPLICATION,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: Tile0 reported NONFATAL error 0x20000",
        "xe_hardware_error",
        Category.MEMORY_CONTAINED,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: Tile0 reported FATAL error 0x20000",
        "xe_hardware_error",
        Category.MEMORY_FATAL,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] [Hardware Error]: TILE0 reported soc-internal correctable-errors, "
        "bit[16] is set",
        "xe_hardware_error",
        Category.MEMORY_CONTAINED,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: TILE1 reported core-compute "
        "uncorrectable-errors, bit[0] is set",
        "xe_hardware_error",
        Category.MEMORY_FATAL,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: HBM SS1: Channel4 SOC "
        "uncorrectable-errors detected",
        "xe_hardware_error",
        Category.MEMORY_FATAL,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] [Hardware Error]: L3 BANK correctable-errors detected, "
        "ERROR_STAT_GT_VECTOR2:0x00000001",
        "xe_hardware_error",
        Category.MEMORY_CONTAINED,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: HEC FW FD Corruption "
        "uncorrectable-errors reported, bit[2] is set",
        "xe_hardware_error",
        Category.MEMORY_FATAL,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: Survivability Boot Status : Critical Failure (2)",
        "xe_survivability",
        Category.FIRMWARE,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: Runtime Survivability mode enabled",
        "xe_survivability",
        Category.FIRMWARE,
        "0000:03:00.0",
    ),
    (f"{_XE}device wedged, needs recovery", "drm_wedged", Category.HANG, "0000:03:00.0"),
    # Up to Linux 6.13 with the date of the driver, then without; newer ones begin with the device.
    (
        "[drm] Initialized i915 1.6.0 20201103 for 0000:00:02.0 on minor 0",
        "drm_initialized",
        Category.OTHER,
        "0000:00:02.0",
    ),
    (
        "[drm] Initialized xe 1.1.0 for 0000:03:00.0 on minor 0",
        "drm_initialized",
        Category.OTHER,
        "0000:03:00.0",
    ),
    (
        f"{_XE}Initialized xe 1.1.0 for 0000:03:00.0 on minor 0",
        "drm_initialized",
        Category.OTHER,
        "0000:03:00.0",
    ),
    (
        f"{_XE}*ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\n"
        "IOCTLs and executions are blocked.",
        "xe_wedged",
        Category.HANG,
        "0000:03:00.0",
    ),
    (
        f"{_XE}*ERROR* GT0: GuC engine reset request failed on 0:0 because 0x00000000",
        "xe_engine_reset_failed",
        Category.HANG,
        "0000:03:00.0",
    ),
    (
        f"{_XE}GT0: Engine reset: engine_class=rcs, logical mask: 0x1, guc_id=2",
        "xe_engine_reset",
        Category.APPLICATION,
        "0000:03:00.0",
    ),
    (
        f"{_XE}GT0: Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id=2, flags=0x0"
        " in python3 [4711]",
        "xe_job_timeout",
        Category.HANG,
        "0000:03:00.0",
    ),
    (
        f"{_XE}*ERROR* GT0: reset failed (-ETIMEDOUT)",
        "xe_reset_failed",
        Category.HANG,
        "0000:03:00.0",
    ),
    (f"{_XE}In Survivability Mode", "xe_survivability", Category.FIRMWARE, "0000:03:00.0"),
    (
        "i915 0000:00:02.0: [drm] *ERROR* Failed to reset chip",
        "i915_wedged",
        Category.HANG,
        "0000:00:02.0",
    ),
    (
        "i915 0000:00:02.0: [drm] *ERROR* GT0: Failed to initialize GPU, declaring it wedged!",
        "i915_wedged",
        Category.HANG,
        "0000:00:02.0",
    ),
    (
        "i915 0000:00:02.0: [drm] *ERROR* GT1: Enabling uc failed (-5)",
        "i915_init_failed",
        Category.FIRMWARE,
        "0000:00:02.0",
    ),
    (
        "i915 0000:00:02.0: [drm] *ERROR* GT0: Failed to reset GuC, ret = -110",
        "i915_reset_failed",
        Category.HANG,
        "0000:00:02.0",
    ),
    *(
        (f"i915 0000:30:00.0: [drm] {text}", "i915_guc_timeout", Category.FIRMWARE, "0000:30:00.0")
        for text in (
            "*ERROR* GT0 [GUC COMMUNICATION] CT: No response for request 0x5503 (fence 71)",
            "*ERROR* GT0: GUC: CT: No response for request 0x1001 (fence 71)",
            "tlb invalidation response timed out for seqno 3",
            "*ERROR* GT0: TLB invalidation response timed out for seqno 3",
        )
    ),
    *(
        (
            f"i915 0000:00:02.0: [drm] *ERROR* {domain}: timed out waiting for forcewake ack request.",
            "i915_forcewake_timeout",
            Category.HANG,
            "0000:00:02.0",
        )
        for domain in ("vdbox0", "GT0 [GT OTHER] gt", "GT0: render")
    ),
    *(
        (f"{_XE}*ERROR* {text}", "xe_guc_timeout", Category.FIRMWARE, "0000:03:00.0")
        for text in (
            "Tile0: GT1: Timed out wait for G2H, fence 412, action 3003, done no",
            "GT0: TLB invalidation fence timeout, seqno=77 recv=76",
            "TLB invalidation fence timeout, seqno=77 recv=76",
            "Tile0: GT0: Schedule disable failed to respond, guc_id=3",
        )
    ),
    (
        f"{_XE}*ERROR* GT0: Force wake domain 0 failed to ack wake (-ETIMEDOUT) reg[0x130044] = 0x0",
        "xe_forcewake_timeout",
        Category.HANG,
        "0000:03:00.0",
    ),
]

HABANALABS: list[Composed] = [
    ("habanalabs hl3: device heartbeat failed!", "habanalabs_heartbeat", Category.HANG, "hl3"),
    (
        "habanalabs accel3: Device heartbeat failed! PCI link is broken",
        "habanalabs_heartbeat",
        Category.HANG,
        "accel3",
    ),
    (
        "habanalabs accel2: Failed to communicate with Device CPU (CPU-CP timeout)",
        "habanalabs_cpucp_timeout",
        Category.FIRMWARE,
        "accel2",
    ),
    (
        "habanalabs 0000:1a:00.0: Failed to initialize accel2. Device is NOT usable !",
        "habanalabs_init_failed",
        Category.FIRMWARE,
        "0000:1a:00.0",
    ),
    (
        "habanalabs 0000:1a:00.0: Failed to initialize accel2. Device 0000:1a:00.0 is NOT usable !",
        "habanalabs_init_failed",
        Category.FIRMWARE,
        "0000:1a:00.0",
    ),
    (
        "accel accel4: Device heartbeat failed! PCI link is healthy",
        "habanalabs_heartbeat",
        Category.HANG,
        "accel4",
    ),
    (
        "habanalabs hl4: Device CPU packet timeout (status = 0x0)",
        "habanalabs_cpucp_timeout",
        Category.FIRMWARE,
        "hl4",
    ),
    (
        "habanalabs hl1: Failed to reset! Device is NOT usable",
        "habanalabs_reset_failed",
        Category.HANG,
        "hl1",
    ),
    (
        "accel accel1: 0000:33:00.0 Failed to reset! Device is NOT usable",
        "habanalabs_reset_failed",
        Category.HANG,
        "accel1",
    ),
    (
        "habanalabs hl1: Going to reset device",
        "habanalabs_reset_begin",
        Category.OTHER,
        "hl1",
    ),
    (
        "accel accel1: Successfully finished resetting the 0000:33:00.0 device",
        "habanalabs_reset_succeeded",
        Category.OTHER,
        "accel1",
    ),
    (
        "habanalabs hl1: Command submission 4711 has not finished in time!",
        "habanalabs_submission_timeout",
        Category.HANG,
        "hl1",
    ),
    (
        "accel accel1: Collective Wait command submission 12 has not finished in 30 seconds!",
        "habanalabs_submission_timeout",
        Category.HANG,
        "accel1",
    ),
    (
        "habanalabs hl6: MMU page fault on va 0x7f00001000",
        "habanalabs_mmu_fault",
        Category.APPLICATION,
        "hl6",
    ),
    (
        "accel accel6: HMMU page fault on va range 0x1000000 - 0x4ffffff",
        "habanalabs_mmu_fault",
        Category.APPLICATION,
        "accel6",
    ),
    (
        "habanalabs 0000:1a:00.0: PMMU page fault on va 0xfff0080000000000",
        "habanalabs_mmu_fault",
        Category.APPLICATION,
        "0000:1a:00.0",
    ),
    (
        "habanalabs hl6: RAZWI event caused by illegal write of TPC3",
        "habanalabs_razwi",
        Category.APPLICATION,
        "hl6",
    ),
    (
        "accel accel6: NIC0_QMAN-RAZWI SHARED RR HBW RD error, address 0x1000, Initiator",
        "habanalabs_razwi",
        Category.APPLICATION,
        "accel6",
    ),
    (
        "habanalabs hl6: Clock throttling due to overheating",
        "habanalabs_overheating",
        Category.THERMAL,
        "hl6",
    ),
    (
        'habanalabs hl5: Received H/W interrupt 123 ["HBM_2_1_DERR"]',
        "habanalabs_ecc_uncorrected",
        Category.MEMORY_FATAL,
        "hl5",
    ),
    (
        'habanalabs hl5: Received H/W interrupt 36 ["TPC3_SERR"]',
        "habanalabs_ecc_corrected",
        Category.MEMORY_CONTAINED,
        "hl5",
    ),
    (
        'habanalabs hl5: Received H/W interrupt 430 ["TPC0_KRN_ERR"]',
        "habanalabs_interrupt",
        Category.OTHER,
        "hl5",
    ),
    (
        "habanalabs accel5: HBM0_MC1_SPI_SEVERE: ECC error detected. address: 0x1000. "
        "Syndrome: 0x2. block id: 0x31. critical 1.",
        "habanalabs_ecc_uncorrected",
        Category.MEMORY_FATAL,
        "accel5",
    ),
    (
        "accel accel5: HDMA3_DERR: ECC error detected. address: 0x1000. Syndrom: 0x2. "
        "block id 4. critical 0.",
        "habanalabs_ecc_contained",
        Category.MEMORY_CONTAINED,
        "accel5",
    ),
    (
        "accel accel5: TPC9_SERR: ECC error detected. address: 0x1000. Syndrom: 0x2. "
        "block id 4. critical 0.",
        "habanalabs_ecc_corrected",
        Category.MEMORY_CONTAINED,
        "accel5",
    ),
    (
        "habanalabs hl5: ECC error detected. address: 0x1000. Syndrom: 0x2. block id 4. "
        "critical 0.",
        "habanalabs_ecc_contained",
        Category.MEMORY_CONTAINED,
        "hl5",
    ),
    (
        "accel accel2: HBM1_MC0_SEI_SEVERE: System Critical Error Interrupt - HBM(1) "
        "MC(0) MC_CH(2) MC_PC(1). Error cause: read parity error",
        "habanalabs_hbm_critical",
        Category.MEMORY_FATAL,
        "accel2",
    ),
    (
        "accel accel2: HBM1_MC0_SEI_NON_SEVERE: System Non-critical Error Interrupt - "
        "HBM(1) MC(0) MC_CH(2) MC_PC(1). Error cause: too many correctable errors",
        "habanalabs_hbm_error",
        Category.MEMORY_CONTAINED,
        "accel2",
    ),
    (
        "habanalabs hl2: System Error Interrupt - HBM(1) MC(0) MC_CH(2) MC_PC(1). "
        "Critical(1). Error cause: ECC",
        "habanalabs_hbm_critical",
        Category.MEMORY_FATAL,
        "hl2",
    ),
]

NEURON: list[Composed] = [
    (
        "neuron: NEURON_HW_ERR=DMA_ERROR instance-id=i-0 hostname=h nd-id=3 nc-id=1 serial-num=ab",
        "neuron_dma_error",
        Category.BUS,
        "neuron3",
    ),
    (
        "NEURON_HW_ERR=BRAND_NEW instance-id=i-0 hostname=h nd-id=3",
        "neuron_hw_error",
        Category.OTHER,
        "neuron3",
    ),
    (
        "neuron:udma_m2m_copy: DMA completion timeout on nd03 for DMA-7 q2 desc count 64",
        "neuron_dma_timeout",
        Category.HANG,
        "neuron3",
    ),
    (
        "neuron:nr_reset_thread_fn: nd12: reset request 5101 failed",
        "neuron_reset_failed",
        Category.HANG,
        "neuron12",
    ),
    (
        "neuron:nr_reset_thread_fn: nd12: reset request 5101 was initiated, but failed to complete",
        "neuron_reset_failed",
        Category.HANG,
        "neuron12",
    ),
    (
        "neuron:nr_reset_thread_fn: nd0: failed to initialize dma after reset",
        "neuron_reset_failed",
        Category.HANG,
        "neuron0",
    ),
    (
        "neuron:f: [ND 4] Total Uncorrected ecc err count is 0, but repair state is 2 "
        "which is invalid. Please contact Neuron for support.",
        "neuron_repair_state_invalid",
        Category.MEMORY_CONTAINED,
        "neuron4",
    ),
    (
        "neuron:fw_io_execute_request: seq: 17, cmd: 2 timed out",
        "neuron_firmware_timeout",
        Category.FIRMWARE,
        "",
    ),
    (
        "2027-Jan-15 08:00:00.0123 4711:4712 ERROR TDRV:exec_wait (FATAL-RT-UNDEFINED-STATE) "
        "execution timeout (120000 ms) on Neuron Device 11 NC 3, model a.neff, waiting for it",
        "neuron_execution_timeout",
        Category.HANG,
        "neuron11",
    ),
    (
        "python3[4711]: [MLA 3][NC 1] DMA RX engine 12 is in an abort state",
        "neuron_dma_error",
        Category.BUS,
        "neuron3",
    ),
    (
        "nrt[9]: (FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device 2 NC 5, "
        "model 7 - suspected hang in collectives operation 3 out of 100",
        "neuron_collectives_hang",
        Category.HANG,
        "neuron2",
    ),
]

TENSTORRENT: list[Composed] = [
    (
        "tenstorrent 0000:41:00.0: ARC queue WPTR read returned all-1s; device gone?",
        "tenstorrent_off_the_bus",
        Category.BUS,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: ARC queue RPTR read returned all-1s; device gone?",
        "tenstorrent_off_the_bus",
        Category.BUS,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Timeout waiting for ARC response",
        "tenstorrent_arc_timeout",
        Category.FIRMWARE,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Timeout waiting for space in ARC message queue",
        "tenstorrent_arc_timeout",
        Category.FIRMWARE,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Couldn't communicate with firmware; NOC is likely hung.",
        "tenstorrent_noc_hung",
        Category.HANG,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Device is unresponsive, cannot reset.",
        "tenstorrent_unresponsive",
        Category.HANG,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Watchdog is disabled and device is unresponsive, cannot reset.",
        "tenstorrent_unresponsive",
        Category.HANG,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Device initialization failed",
        "tenstorrent_init_failed",
        Category.FIRMWARE,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Timed out waiting for FW telemetry",
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Skipping message 000000A0 due to FW not running",
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Failed to send ARC message for A3 state",
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        "0000:41:00.0",
    ),
    (
        "tenstorrent tenstorrent!3: Failed to send ARC message for A3 state",
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        "tt3",
    ),
    (
        "tenstorrent: Skipping message 000000A0 due to FW not running.",
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        "",
    ),
    (
        "tenstorrent: Tenstorrent FW message timeout: 000000BB.",
        "tenstorrent_arc_timeout",
        Category.FIRMWARE,
        "",
    ),
    (
        "tenstorrent: ARC initialization failed.",
        "tenstorrent_init_failed",
        Category.FIRMWARE,
        "",
    ),
    (
        "tenstorrent: Timeout waiting for ARC FW initialization to complete.",
        "tenstorrent_init_failed",
        Category.FIRMWARE,
        "",
    ),
    (
        "tenstorrent: Timeout waiting for SPI bootrom init done.",
        "tenstorrent_init_failed",
        Category.FIRMWARE,
        "",
    ),
    (
        "tenstorrent 0000:41:00.0: Link retrain incomplete: Gen1 (target Gen4)",
        "tenstorrent_link_slow",
        Category.LINK,
        "0000:41:00.0",
    ),
    (
        "tenstorrent 0000:41:00.0: Timeout waiting for link retrain to complete",
        "tenstorrent_link_slow",
        Category.LINK,
        "0000:41:00.0",
    ),
]

_XDNA = "amdxdna 0000:c6:00.1: "
_XDNA_AT = "0000:c6:00.1"

AMDXDNA: list[Composed] = [
    (
        f"{_XDNA}[drm] *ERROR* aie2_hw_start: firmware is not alive",
        "amdxdna_firmware_dead",
        Category.FIRMWARE,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}[drm] *ERROR* aie2_smu_exec: smu cmd 4 failed, 0xff",
        "amdxdna_smu_failed",
        Category.FIRMWARE,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}[drm] *ERROR* amdxdna_probe: Hardware init failed, ret -22",
        "amdxdna_init_failed",
        Category.FIRMWARE,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}probe with driver amdxdna failed with error -22",
        "amdxdna_init_failed",
        Category.FIRMWARE,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}[drm] *ERROR* aie2_check_protocol: Incompatible firmware protocol major 7 minor 3",
        "amdxdna_firmware_incompatible",
        Category.FIRMWARE,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}xdna_send_msg_wait: Wait for completion timeout",
        "amdxdna_firmware_timeout",
        Category.FIRMWARE,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}amdxdna_tdr_work: Device isn't making progress... Count 243",
        "amdxdna_hang",
        Category.HANG,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0001 address=0x7f5f245a0000 flags=0x0007]",
        "amdxdna_page_fault",
        Category.APPLICATION,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}[drm] *ERROR* aie2_sched_job_timedout: TDR timeout detected",
        "amdxdna_hang",
        Category.HANG,
        _XDNA_AT,
    ),
    (
        f"{_XDNA}[drm] *ERROR* aie2_send_mgmt_msg_wait: command opcode 0x2 failed, status 0x2000003",
        "amdxdna_command_failed",
        Category.OTHER,
        _XDNA_AT,
    ),
    *(
        (f"{_XDNA}[drm] *ERROR* {text}", "amdxdna_resume_failed", Category.FIRMWARE, _XDNA_AT)
        for text in (
            "amdxdna_pm_resume: Resume failed, ret -62",
            "amdxdna_pm_resume: Resume failed: -62",
            "aie4_reset: reset failed: -110, service offline",
        )
    ),
]

_VPU = "intel_vpu 0000:00:0b.0: "
_VPU_AT = "0000:00:0b.0"

INTEL_VPU: list[Composed] = [
    (
        f"{_VPU}Failed to initialize VPU device: -2",
        "intel_vpu_init_failed",
        Category.FIRMWARE,
        _VPU_AT,
    ),
    (
        f"{_VPU}[drm] *ERROR* ivpu_boot(): Failed to boot the firmware: -110",
        "intel_vpu_init_failed",
        Category.FIRMWARE,
        _VPU_AT,
    ),
    *(
        (
            f"{_VPU}[drm] *ERROR* ivpu_resume(): Failed to {step}: -110",
            "intel_vpu_resume_failed",
            Category.FIRMWARE,
            _VPU_AT,
        )
        for step in ("resume", "resume the FW", "resume NPU", "set RESUME state")
    ),
    (
        f"{_VPU}[drm] *ERROR* ivpu_job_timeout_work(): TDR detected, timeout 2000 ms",
        "intel_vpu_hang",
        Category.HANG,
        _VPU_AT,
    ),
    (
        f"{_VPU}[drm] *ERROR* ivpu_job_timeout_work(): Job timeout detected, heartbeat not progressed",
        "intel_vpu_hang",
        Category.HANG,
        _VPU_AT,
    ),
    (
        f"{_VPU}[drm] *ERROR* ivpu_pm_trigger_recovery(): Recovery triggered by TDR",
        "intel_vpu_recovery",
        Category.HANG,
        _VPU_AT,
    ),
    (
        f"{_VPU}[drm] *ERROR* ivpu_pm_recovery_work(): Recovering the NPU (reset #3)",
        "intel_vpu_recovery",
        Category.HANG,
        _VPU_AT,
    ),
    (
        f"{_VPU}[drm] *ERROR* ivpu_mmu_dump_event(): MMU EVTQ: 0x10 (Translation fault) SSID: 3 SID: 0, "
        "e[2] 00000000, e[3] 00000208, in addr: 0x88988000, fetch addr: 0x0",
        "intel_vpu_mmu_fault",
        Category.APPLICATION,
        _VPU_AT,
    ),
]

_QAIC = "qaic 0000:81:00.0: "
_QAIC_AT = "0000:81:00.0"


def _ras_of_qaic(description: str, code: str, category: Category) -> Composed:
    text = (
        f"{_QAIC}RAS event.\nClass:Fatal\nDescription:{description}\n"
        "Error Threshold for this report 1\nSyndrome:\n    0x1"
    )
    return text, code, category, _QAIC_AT


QAIC: list[Composed] = [
    _ras_of_qaic("Uncorrectable error from DDR", "qaic_ras_ddr", Category.MEMORY_FATAL),
    _ras_of_qaic("Correctable error from DDR", "qaic_ras_ddr", Category.MEMORY_CONTAINED),
    _ras_of_qaic(
        "Uncorrectable Non-Fatal error from NSP Memory",
        "qaic_ras_nsp_memory",
        Category.MEMORY_CONTAINED,
    ),
    _ras_of_qaic(
        "Uncorrectable error from SoC Memory", "qaic_ras_soc_memory", Category.MEMORY_FATAL
    ),
    _ras_of_qaic("Correctable error from PCIE", "qaic_ras_pcie", Category.LINK),
    _ras_of_qaic("Uncorrectable error from PCIE", "qaic_ras_pcie", Category.BUS),
    _ras_of_qaic(
        "Uncorrectable error from System Bus source 2", "qaic_ras_system_bus", Category.BUS
    ),
    _ras_of_qaic(
        "Correctable error from System Bus source 1", "qaic_ras_system_bus", Category.OTHER
    ),
    _ras_of_qaic(
        "Correctable error from Temperature Sensors", "qaic_ras_temperature", Category.THERMAL
    ),
    (
        f"{_QAIC}Fatal error received from device. Attempting to recover",
        "qaic_fatal_error",
        Category.FIRMWARE,
        _QAIC_AT,
    ),
    (
        f"{_QAIC}qaic_mhi_probe: Control protocol version (6.0) not supported. Supported version is "
        "(5.0). Ret: 0",
        "qaic_firmware_incompatible",
        Category.FIRMWARE,
        _QAIC_AT,
    ),
    (
        f"{_QAIC}mhi_async_power_up failed after reset -5",
        "qaic_start_failed",
        Category.FIRMWARE,
        _QAIC_AT,
    ),
    (
        f"{_QAIC}mhi_prepare_for_power_up failed -12",
        "qaic_start_failed",
        Category.FIRMWARE,
        _QAIC_AT,
    ),
]

NVGPU: list[Composed] = [
    (
        "nvgpu: 57000000.gpu   nvgpu_set_error_notifier_locked:137  [ERR]  error notifier set to 31 "
        "for ch 507",
        "nvgpu_error_31",
        Category.APPLICATION,
        "tegra0",
    ),
    (
        "nvgpu: 17000000.gpu nvgpu_set_err_notifier_locked:143  [ERR]  error notifier set to 13 for "
        "ch 508 owned by infer",
        "nvgpu_error_13",
        Category.APPLICATION,
        "tegra0",
    ),
    (
        "nvgpu: 17000000.ga10b nvgpu_set_err_notifier_locked:143  [ERR]  error notifier set to 99 for "
        "ch 2",
        "nvgpu_error_99",
        Category.OTHER,
        "tegra0",
    ),
]

ACCELERATORS = [
    *NVIDIA,
    *AMD,
    *INTEL,
    *HABANALABS,
    *NEURON,
    *TENSTORRENT,
    *AMDXDNA,
    *INTEL_VPU,
    *QAIC,
    *NVGPU,
]
