"""Names of disks and network interfaces that are no hardware, as patterns of whole names."""

NO_DISK = r"(loop|ram|zram|dm-|md|sr|fd)\d.*"
"""Block devices that are no disks, or whose traffic the disks under them count too."""
VIRTUAL_INTERFACE = (
    r"lo|(veth|docker|cali|tunl|br-|virbr|cni|flannel|kube-|vxlan|lxc|cilium|dummy|ifb|sit|gre|erspan"
    r"|ip6|ip_vti|nodelocaldns|tap|vnet|nerdctl|podman|teql).*"
)
