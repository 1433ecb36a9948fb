"""Which of Modelfile, environment and memory decides about a window."""

import pytest

from ktms.node.engines.ollama_window import GIB, DecidedBy, Serving, Window, window_of

PLAIN = Serving(parallel=0, context=0, gpu_bytes=16 * GIB)


@pytest.mark.parametrize(
    ("loaded", "modelfile", "serving", "trained", "expected"),
    [
        (8192, 2048, PLAIN, 4096, Window(8192, DecidedBy.LOADED)),
        (None, 2048, Serving(context=9000), None, Window(2048, DecidedBy.MODELFILE)),
        (None, None, Serving(context=9000), None, Window(9000, DecidedBy.ENVIRONMENT)),
        (None, None, PLAIN, None, Window(4096, DecidedBy.GPU_MEMORY)),
        (None, None, Serving(context=0, gpu_bytes=0), None, Window(4096, DecidedBy.GPU_MEMORY)),
        (None, None, Serving(context=0, gpu_bytes=24 * GIB), None, Window(32_768, DecidedBy.GPU_MEMORY)),
        (None, None, Serving(context=0, gpu_bytes=48 * GIB), None, Window(262_144, DecidedBy.GPU_MEMORY)),
        (None, None, Serving(context=0, gpu_bytes=48 * GIB), 40_960, Window(40_960, DecidedBy.TRAINED)),
        (None, 8192, PLAIN, 2048, Window(2048, DecidedBy.TRAINED)),
        (None, None, Serving(), 40_960, None),
        (None, None, Serving(context=0), 40_960, None),
    ],
)
def test_the_first_that_is_known_decides(
    loaded: int | None, modelfile: int | None, serving: Serving, trained: int | None, expected: Window | None
) -> None:
    assert window_of(loaded=loaded, modelfile=modelfile, serving=serving, trained=trained) == expected
