"""The world around a gateway under test: a vendor that follows a script, a client that sees every byte.

Everything here uses transports, futures and the loop's own time only, and takes ports, clock and network from the
`World` it is given; so the same end-to-end cases run on real sockets today and on virtual time later.
Not here: the cases themselves (`tests/cases`), the real engine (`tests/e2e/engine`), the benchmark (`tests/perf`).
"""
