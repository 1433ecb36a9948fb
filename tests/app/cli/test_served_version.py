import json

from tests.app.cli.terminal import Terminal


async def test_release_and_configuration_of_the_gateway_are_printed_as_json(terminal: Terminal) -> None:
    result = await terminal.run("admin", "version", "--json")
    assert json.loads(result.stdout) == {"server_version": "1.2.3", "catalogue_version": 0}
