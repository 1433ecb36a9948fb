"""Life of a call: admit, place, attempt, relay, settle; and what runs beside it: refresh, drain."""
