"""A small Redis: the commands our adapters send, spoken as RESP2 or RESP3, on the time of the loop."""
