"""How near devices and network adapters of a machine are to each other: links, PCIe, NUMA.

`pci_places` and `adapters` read sysfs, `relations` compares, `matrix` is the whole machine.
"""
