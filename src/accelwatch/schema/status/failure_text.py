"""A failure to read in its parts: `nvidia3: handle: NVML_X; what that means; what to do`. Pure."""

import msgspec


class Report(msgspec.Struct, frozen=True):
    """What was tried, what its failure means, what to do, and the vendor's code."""

    tried: str
    meaning: str
    remedy: str
    code: str


def report(name: str, code: str, message: str) -> Report:
    """The parts of a message about the device of this name; any but the first may be empty."""
    tried, *details = message.removeprefix(f"{name}: ").split("; ")
    code = code if code.isupper() else ""
    if code in tried and len(details) > 1:
        return Report(tried, details[0], details[-1], code)
    return Report(tried, "", details[-1] if details else "", code)


def reason(name: str, code: str, message: str) -> str:
    """What happened, in short, with the vendor's code."""
    failure = report(name, code, message)
    text = (failure.meaning or failure.tried).removesuffix(".")
    return f"{text} ({code})" if (failure.code or code.isdigit()) and code not in text else text
