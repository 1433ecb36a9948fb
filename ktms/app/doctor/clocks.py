"""Whether a server's clock is in step with ours."""

from ktms.app.doctor.finding import Finding, fine, warning

SKEW_MAX_S = 2.0
"""A clock that is looked after is never off by so much; days of budgets and ends of keys are still right."""


def clock_finding(server: str, theirs_s: float, before_s: float, after_s: float) -> Finding:
    """Compare a server's clock with ours, which was read before and after the question."""
    subject = f"clock of {server}"
    ahead_s = theirs_s - (before_s + after_s) / 2
    if abs(ahead_s) - (after_s - before_s) / 2 <= SKEW_MAX_S:
        return fine(subject, "in step with ours")
    where = "ahead of" if ahead_s > 0 else "behind"
    return warning(
        subject,
        f"{abs(ahead_s):.1f} s {where} ours: budgets and usage put calls near midnight into different days",
        "let NTP keep both machines",
    )
