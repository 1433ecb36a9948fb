"""The benchmark: `python -m tests.perf` (`make bench`). Not a timed test: it measures, prints and judges.

Own mock upstream, own load generator, subjects each in a process of its own. Windows of all contenders are
interleaved, so that the noise of the machine falls on all of them; figures are medians and lower quartiles, and
bars are judged on the lower quartile (neighbours on a shared machine only ever make a window slower).
"""
