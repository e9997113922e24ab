"""A fake nvidia-smi that prints composed documents of the shape of `-q -x`, schema v13."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

_GPU = """\
	<gpu id="{bus}">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<product_architecture>Hopper</product_architecture>
		<mig_mode>
			<current_mig>Disabled</current_mig>
			<pending_mig>Disabled</pending_mig>
		</mig_mode>
		<mig_devices>
			None
		</mig_devices>
		<serial>165009000000{index}</serial>
		<uuid>{uuid}</uuid>
		<minor_number>{index}</minor_number>
		<vbios_version>96.00.99.00.01</vbios_version>
		<gpu_part_number>2330-885-A1</gpu_part_number>
		<pci>
			<pci_bus_id>{bus}</pci_bus_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>5</max_link_gen>
					<current_link_gen>5</current_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>16x</max_link_width>
					<current_link_width>16x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<replay_counter>3</replay_counter>
			<replay_rollover_counter>0</replay_rollover_counter>
			<tx_util>23000 KB/s</tx_util>
			<rx_util>N/A</rx_util>
		</pci>
		<fan_speed>N/A</fan_speed>
		<performance_state>{state}</performance_state>
		<fb_memory_usage>
			<total>81559 MiB</total>
			<reserved>552 MiB</reserved>
			<used>{used}</used>
			<free>18568 MiB</free>
		</fb_memory_usage>
		<utilization>
			<gpu_util>{utilization}</gpu_util>
			<memory_util>41 %</memory_util>
			<encoder_util>0 %</encoder_util>
			<decoder_util>0 %</decoder_util>
			<jpeg_util>0 %</jpeg_util>
			<ofa_util>0 %</ofa_util>
		</utilization>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
			<pending_ecc>Enabled</pending_ecc>
		</ecc_mode>
		<temperature>
			<gpu_temp>{temperature}</gpu_temp>
			<gpu_temp_tlimit>26 C</gpu_temp_tlimit>
			<gpu_temp_max_threshold>N/A</gpu_temp_max_threshold>
			<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
			<memory_temp>72 C</memory_temp>
		</temperature>
		<gpu_power_readings>
			<power_state>{state}</power_state>
			<average_power_draw>{power}</average_power_draw>
			<instant_power_draw>{power}</instant_power_draw>
			<current_power_limit>700.00 W</current_power_limit>
			<default_power_limit>700.00 W</default_power_limit>
			<min_power_limit>200.00 W</min_power_limit>
			<max_power_limit>700.00 W</max_power_limit>
		</gpu_power_readings>
		<clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<sm_clock>1980 MHz</sm_clock>
			<mem_clock>2619 MHz</mem_clock>
			<video_clock>1545 MHz</video_clock>
		</clocks>
		<max_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<sm_clock>1980 MHz</sm_clock>
			<mem_clock>2619 MHz</mem_clock>
			<video_clock>1545 MHz</video_clock>
		</max_clocks>
		<processes>
			<process_info>
				<gpu_instance_id>N/A</gpu_instance_id>
				<compute_instance_id>N/A</compute_instance_id>
				<pid>{pid}</pid>
				<type>C</type>
				<process_name>/usr/bin/python3</process_name>
				<used_memory>62400 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
"""


class Gpu(msgspec.Struct, frozen=True):
    """One GPU of the document; with `bad`, what it prints in place of four of its values."""

    index: int
    bad: str = ""
    # Not in the document: nvidia-smi gives up on it.
    lost: bool = False

    @property
    def bus(self) -> str:
        """Its PCI id as nvidia-smi prints it."""
        return f"00000000:{0x18 + self.index:02X}:00.0"

    @property
    def uuid(self) -> str:
        """Its uuid."""
        return f"GPU-5ca1ab1e-0009-4000-8000-00000000000{self.index}"

    def element(self) -> str:
        """Its `gpu` element."""
        return _GPU.format(
            index=self.index,
            bus=self.bus,
            uuid=self.uuid,
            pid=4100 + self.index,
            state=self.bad or "P0",
            used=self.bad or "62439 MiB",
            utilization=self.bad or "97 %",
            temperature=self.bad or "61 C",
            power=self.bad or "642.13 W",
        )


def document(gpus: Sequence[Gpu]) -> str:
    """The whole document."""
    elements = "".join(gpu.element() for gpu in gpus if not gpu.lost)
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n'
        "<nvidia_smi_log>\n\t<timestamp>Thu Jan  1 00:00:00 2026</timestamp>\n"
        "\t<driver_version>590.48.01</driver_version>\n\t<cuda_version>13.1</cuda_version>\n"
        f"\t<attached_gpus>{len(gpus)}</attached_gpus>\n{elements}</nvidia_smi_log>\n"
    )


def links(gpus: Sequence[Gpu]) -> str:
    """What `nvlink -s` prints: two links a GPU, one of them down."""
    return "".join(
        f"GPU {gpu.index}: NVIDIA H100 80GB HBM3 (UUID: {gpu.uuid})\n"
        "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
        for gpu in gpus
        if not gpu.lost
    )


def _links(gpus: Sequence[Gpu]) -> str:
    """The shell command that prints them, whatever else is asked of the links."""
    return f"printf '%s' '{links(gpus)}'"


def write_program(folder: Path, gpus: Sequence[Gpu]) -> Path:
    """An executable nvidia-smi for these GPUs: all of them, or the one that -i names."""
    folder.mkdir(exist_ok=True)
    cases = []
    for gpu in gpus:
        bus = gpu.bus.lower()[4:]
        (folder / f"{gpu.index}.xml").write_text(document([gpu]))
        answer = f'cat "{folder}/{gpu.index}.xml"; exit 0'
        if gpu.lost:
            answer = f'echo "Unable to determine the device handle for GPU{gpu.index}: {gpu.bus}: '
            answer += 'GPU is lost.  Reboot the system to recover this GPU"; exit 15'
        cases.append(f"nvlink*-i*{bus}*) {_links([gpu])} ;;")
        cases.append(f"*{bus}*) {answer} ;;")
    (folder / "all.xml").write_text(document(gpus))
    cases.append(f"nvlink*) {_links(gpus)} ;;")
    rest = f'*-i*) echo "No devices were found"; exit 6 ;;\n*) cat "{folder}/all.xml" ;;'
    program = folder / "nvidia-smi"
    program.write_text('#!/bin/sh\ncase "$*" in\n' + "\n".join(cases) + f"\n{rest}\nesac\n")
    program.chmod(0o755)
    return program
