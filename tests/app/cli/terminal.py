"""A terminal in front of the command line: runs commands against a real admin server, in a thread beside it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from ktms.app.cli.root import ktms
from ktms.domain.access.actor import Role
from tests.api.admin_grpc.stage import Stage


@dataclass
class Terminal:
    """`folder` holds the user's files; the environment names the stage and its owner's key."""

    stage: Stage
    folder: Path

    @property
    def environment(self) -> dict[str, str | None]:
        return {
            "KTMS_ADMIN_ADDR": self.stage.address,
            "KTMS_ADMIN_KEY": self.stage.tokens[Role.OWNER],
            "KTMS_ADMIN_KEY_FILE": None,
            "KTMS_ADMIN_ALLOW_PLAINTEXT": None,
            "KTMS_LOG_LEVEL": None,
            "XDG_CONFIG_HOME": str(self.folder),
        }

    async def run(self, *args: str, **environment: str | None) -> Result:
        """Run a command; keyword arguments change the environment, None removes a name."""
        env = {**self.environment, **environment}
        return await asyncio.to_thread(CliRunner().invoke, ktms, args, env=env)

    def write(self, name: str, text: str, mode: int = 0o600) -> str:
        """Write a file of the user; gives its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return str(path)
