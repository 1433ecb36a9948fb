"""What the two commands that run a gateway were asked to do; the rest comes from the environment."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class UpOptions:
    """`ktms up`. None means: find a good default. `demo` allows a demo node where no engine is found."""

    data_dir: Path | None = None
    port: int | None = None
    config: Path | None = None
    demo: bool = True


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`ktms serve`. `workers` None means as the environment says."""

    workers: int | None = None
