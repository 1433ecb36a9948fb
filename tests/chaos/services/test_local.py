import asyncio
import tempfile
from pathlib import Path

import pytest

from chaos.services.local import Local


async def test_nothing_is_left_on_the_disk(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = await asyncio.to_thread(tempfile.mkdtemp, dir=server_folder)
    await asyncio.to_thread(Path(place).chmod, 0o711)
    monkeypatch.setattr(tempfile, "tempdir", place)
    async with Local().redis():
        assert await asyncio.to_thread(lambda: list(Path(place).iterdir())) != []
    assert await asyncio.to_thread(lambda: list(Path(place).iterdir())) == []


async def test_this_machine_is_always_worth_asking() -> None:
    assert await Local().ready() is None
