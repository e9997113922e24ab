"""The job and pod board: what the owners of devices make of them."""

from model import INSTANCE, JOB, Board, Kind, Panel, Variable, row

ALLOCATION = 'job=~"$job", instance=~"$instance"'
NAMESPACE = Variable(
    "namespace",
    "Namespace",
    f"label_values(accel_kubernetes_allocation_info{{{ALLOCATION}}}, namespace)",
)
POD = Variable(
    "pod",
    "Pod",
    f'label_values(accel_kubernetes_allocation_info{{{ALLOCATION}, namespace=~"$namespace"}}, pod)',
)
JOB_ID = Variable(
    "job_id",
    "Batch job",
    f"label_values(accel_job_allocation_info{{{ALLOCATION}}}, job_id)",
)

# The allocation stands on the left of a join: a device may be shared by several owners, and each
# of them then gets the value of the whole device.
OF_POD = (
    "max by (instance, uuid, namespace, pod) (accel_kubernetes_allocation_info"
    '{@node, namespace=~"$namespace", pod=~"$pod"}) * on (instance, uuid) group_left (device) '
)
OF_JOB = (
    "max by (instance, uuid, scheduler, job_id) (accel_job_allocation_info"
    '{@node, job_id=~"$job_id"}) * on (instance, uuid) group_left (device) '
)
BUSY = "rate(accel_busy_seconds_total{@node}[$__rate_interval])"
ENERGY = "sum without (source) (increase(accel_energy_joules_total{@node}[$__range]))"
PEAK = "max_over_time(accel_window_memory_used_max_bytes{@node}[$__range])"


def owner_panels(owner: str, by: str, join: str, legend: str) -> tuple[Panel, ...]:
    """The same six panels for whoever holds devices: pods, then batch jobs."""
    no_value = f"no data: no {owner} holds a device here, or the agent does not see its owner"
    return (
        Panel(
            f"Utilization of each device of the {owner}",
            "Mean busy ratio. A shared device shows the same value for each owner.",
            "percentunit",
            ((f"{join}{BUSY}", f"{legend} {{{{instance}}}} {{{{device}}}}"),),
            no_value=no_value,
        ),
        Panel(
            f"Slowest device of the {owner}",
            "The lowest busy ratio among its devices, beside their median. A device that stays "
            "far below, or alone at the top while the others wait, holds the job up.",
            "percentunit",
            (
                (f"min by ({by}) ({join}{BUSY})", f"{legend} slowest"),
                (f"quantile by ({by}) (0.5, {join}{BUSY})", f"{legend} median"),
            ),
            no_value=no_value,
        ),
        Panel(
            f"Memory of the {owner}",
            "Memory in use on the devices it holds.",
            "bytes",
            (
                (f"sum by ({by}) ({join}accel_memory_used_bytes{{@node}})", legend),
                (f"sum by ({by}) ({join}accel_memory_size_bytes{{@node}})", f"{legend} limit"),
            ),
            no_value=no_value,
        ),
        Panel(
            f"Idle share of the {owner}",
            "Share of its device time in which nothing ran.",
            "percentunit",
            ((f"1 - avg by ({by}) ({join}{BUSY})", legend),),
            no_value=no_value,
        ),
        Panel(
            f"Memory peak of the {owner}",
            "Highest memory use of one of its devices within the time shown.",
            "bytes",
            ((f"max by ({by}) ({join}{PEAK})", ""),),
            Kind.TABLE,
            no_value=no_value,
        ),
        Panel(
            f"Energy of the {owner}",
            "Energy that its present devices drew within the time shown, before its start too.",
            "joule",
            ((f"sum by ({by}) ({join}{ENERGY})", ""),),
            Kind.TABLE,
            no_value=no_value,
        ),
    )


BOARD = Board(
    "job-pod",
    "Job and pod",
    "What pods and batch jobs make of the devices they hold.",
    (JOB, INSTANCE, NAMESPACE, POD, JOB_ID),
    (
        row("Kubernetes pods"),
        *owner_panels("pod", "namespace, pod", OF_POD, "{{namespace}}/{{pod}}"),
        row("Batch jobs"),
        *owner_panels("batch job", "scheduler, job_id", OF_JOB, "{{scheduler}} {{job_id}}"),
    ),
)
