"""Times compiling and evaluating expressions; prints one JSON document.

Run it with `python benchmarks/rules/bench_expr.py`. Figures are the best of several rounds, in
microseconds for one compilation or one evaluation, the lookup (a dictionary's get) included.
"""

import json
import platform
import timeit
from collections.abc import Mapping

from accelwatch.expr import MISSING, Key, Missing, Value, compile_condition, device_names

READINGS: Mapping[Key, Value] = {
    "vendor": "nvidia",
    "model": "NVIDIA H100 80GB HBM3",
    ("power_watts",): 612.5,
    ("power_limit_watts", "enforced"): 700.0,
    ("temperature_celsius", "gpu"): 61.0,
    ("utilization_ratio",): 0.97,
    ("memory_used_bytes",): 68719476736,
}

EXPRESSIONS = {
    "one term": "power_watts > 600",
    "filter of two terms": 'vendor == "nvidia" and temperature_celsius > 85',
    "four terms": (
        'vendor == "nvidia" and power_watts > 600 and utilization_ratio > 0.9'
        " and memory_used_bytes > GiB(60)"
    ),
    "arithmetic": "power_watts / power_limit_watts > 0.8",
    "pattern": 'matches(model, "H[12]00")',
    "all missing": "ecc_errors_total > 0 or memory_retired_pages.sbe > 3",
}

ROUNDS, EVALUATIONS, COMPILATIONS = 7, 20_000, 200


def lookup(key: Key) -> Value | Missing:
    return READINGS.get(key, MISSING)


def measure(text: str) -> dict[str, float]:
    names = device_names()
    expression = compile_condition(text, names)
    evaluating = timeit.repeat(
        lambda: expression.evaluate(lookup), number=EVALUATIONS, repeat=ROUNDS
    )
    compiling = timeit.repeat(
        lambda: compile_condition(text, names), number=COMPILATIONS, repeat=ROUNDS
    )
    return {
        "evaluate_us": round(min(evaluating) / EVALUATIONS * 1e6, 3),
        "compile_us": round(min(compiling) / COMPILATIONS * 1e6, 1),
    }


def main() -> None:
    figures = {name: {"text": text, **measure(text)} for name, text in EXPRESSIONS.items()}
    document = {"python": platform.python_version(), "expressions": figures}
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
