"""What the stored catalogue tells: what compiles but is hardly meant, and limits of dollars that hold nothing."""

from collections.abc import Iterator

from ktms.app.doctor.finding import Finding, fine, warning
from ktms.domain.catalogue import Catalogue, DollarLimitMode
from ktms.domain.catalogue_warnings import unpriced, warnings

CATALOGUE, LIMITS = "catalogue", "limits"


def catalogue_findings(catalogue: Catalogue, mode: DollarLimitMode) -> Iterator[Finding]:
    """Look at a catalogue that compiles, nodes that joined included; `mode` is that of the whole gateway."""
    if not catalogue.models:
        yield warning(CATALOGUE, "no model is declared, so no call can be answered", "ktms apply -f gateway.yaml")
        return
    lines = warnings(catalogue)
    yield from (warning(CATALOGUE, line) for line in lines)
    if not lines:
        yield fine(CATALOGUE, f"{len(catalogue.models)} models; each target in the cloud has a price")
    yield from _limits(catalogue, mode)


def _limits(catalogue: Catalogue, mode: DollarLimitMode) -> Iterator[Finding]:
    limited = [key.name for key in catalogue.client_keys if key.limits.dollars]
    limited += [f"tenant {tenant.name}" for tenant in catalogue.tenants if tenant.limits.dollars]
    if not limited:
        return
    free = len({(vendor, name) for _, vendor, name in unpriced(catalogue, catalogue.nodes)})
    if free:
        yield warning(
            LIMITS,
            f"dollars are limited ({len(limited)} keys and tenants), but {free} cloud targets cost 0 there",
            "give their prices in gateway.yaml",
        )
        return
    what = "pass, but of keys and teams that say closed" if mode is DollarLimitMode.OPEN else "are refused"
    yield fine(LIMITS, f"dollars of {len(limited)} keys and tenants; while they cannot be counted calls {what}")
