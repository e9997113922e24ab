"""The fields of a finding that rules read, by their names in `detector_names`."""

from accelwatch.detection.findings.finding import Finding, Level


def number_of(finding: Finding, field: str) -> float:
    """`alert` and `watch` as 0 and 1, `onset` in Unix seconds, else the score."""
    match field:
        case "alert" | "watch":
            return float(finding.level is Level(field))
        case "onset":
            return finding.onset
    return finding.score


def text_of(finding: Finding, field: str) -> str:
    """`family`, `advice`, `sentence`, else `subject`; empty where there is none."""
    match field:
        case "family":
            return finding.family
        case "advice":
            return finding.advice
        case "sentence":
            return finding.sentence
    return finding.scope
