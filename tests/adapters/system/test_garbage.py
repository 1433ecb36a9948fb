"""In a process of its own: what is put aside stays aside for good."""

import subprocess
import sys

SERVER = """
import gc, time
import ktms.app.serve
from ktms.adapters.system.garbage import put_lasting_aside

def looked_through():
    began_at = time.perf_counter()
    gc.collect()
    return time.perf_counter() - began_at

before = min(looked_through() for _ in range(5))
aside = put_lasting_aside()
after = min(looked_through() for _ in range(5))
print(aside, before / after)
"""


def test_a_full_collection_no_longer_goes_through_what_was_there_at_the_start() -> None:
    done = subprocess.run([sys.executable, "-c", SERVER], check=True, capture_output=True, text=True, timeout=120)
    aside, times_faster = done.stdout.split()
    assert int(aside) > 50_000
    assert float(times_faster) > 10
