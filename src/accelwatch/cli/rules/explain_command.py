"""`accelwatch rules explain`: why a rule fires or not, and what the detector holds of a node."""

from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.output import write_stdout


def rules_explain(rule: str, entity: str, hub: HubFlags, as_json: bool) -> int:
    """Print a hub's explanation of why a rule fires or does not. Raises AccelwatchError."""
    from accelwatch.alerting.evaluation.explanation import Explanation
    from accelwatch.alerting.rules.document import how_sure
    from accelwatch.base.untrusted_text import printable
    from accelwatch.fleet.hub_client.documents import decoded

    document = fetch_page(hub, "/v1/explain", {"rule": rule, "entity": entity})
    if as_json:
        write_stdout(document)
        return OK
    explanation = decoded(document, Explanation)
    age_text = "" if explanation.phase_s is None else f", for {explanation.phase_s:.0f} s"
    age_text = ", just started" if age_text == ", for 0 s" else age_text
    lines = [f"{explanation.rule} on {entity}: {explanation.phase}{age_text}"]
    if explanation.confidence:
        sure = how_sure(explanation.confidence, explanation.act_on)
        lines.append(f"mode {explanation.mode}, {sure}")
    for row in explanation.components:
        value = "" if row.value is None else row.value
        value = f"{value:.6g}" if isinstance(value, float) else str(value)
        truth = row.truth.upper() if row.reason else row.truth
        shown = truth or row.shown or value or "missing"
        reason = f"  ({row.reason})" if row.reason else ""
        lines.append(f"{row.key:8} {'  ' * row.depth}{row.text}  = {shown}{reason}")
    write_stdout("".join(f"{printable(line)}\n" for line in lines).encode())
    return OK


def detector_explain(entity: str, hub: HubFlags, as_json: bool) -> int:
    """Print all that a hub's detector holds of a node or device. Raises AccelwatchError."""
    from accelwatch.base.errors import UnmetError
    from accelwatch.base.untrusted_text import printable
    from accelwatch.cli.rules.detector_lines import lines_of
    from accelwatch.fleet.documents.detector import DETECTOR, DetectorPage
    from accelwatch.fleet.hub_client.documents import decoded

    try:
        document = fetch_page(hub, DETECTOR, {"entity": entity})
    except UnmetError as error:
        if "no such page" not in str(error):
            raise
        text = f"{error}: detectors run in hubs; name one with --hub, or update it"
        raise UnmetError(text) from error
    if as_json:
        write_stdout(document)
        return OK
    lines = lines_of(decoded(document, DetectorPage))
    write_stdout("".join(f"{printable(line)}\n" for line in lines).encode())
    return OK
