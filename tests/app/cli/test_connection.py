from dataclasses import replace

import pytest

from ktms.adapters.system.entropy import SystemEntropy
from ktms.api.admin_grpc.server import Listen, TlsFiles
from ktms.domain.access.actor import Role
from ktms.domain.access.key_form import KeyKind, make_key
from tests.api.admin_grpc.certificates import Certificates
from tests.api.admin_grpc.stage import started
from tests.app.cli.terminal import Terminal

SERVED = "ktms 1.2.3, configuration version 0\n"

VERSION = ("admin", "version")


def a_key(kind: KeyKind) -> str:
    return make_key(kind, SystemEntropy().token_bytes)


async def test_address_and_key_come_from_the_environment(terminal: Terminal) -> None:
    result = await terminal.run(*VERSION)
    assert (result.exit_code, result.stdout, result.stderr) == (0, SERVED, "")


async def test_the_key_may_lie_in_a_file_the_environment_names(terminal: Terminal) -> None:
    path = terminal.write("key", terminal.stage.tokens[Role.VIEWER] + "\n")
    result = await terminal.run(*VERSION, KTMS_ADMIN_KEY=None, KTMS_ADMIN_KEY_FILE=path)
    assert result.stdout == SERVED


async def test_address_and_key_come_from_the_user_s_configuration(terminal: Terminal) -> None:
    key = terminal.stage.tokens[Role.VIEWER]
    terminal.write("ktms/config.toml", f'[admin]\naddr = "{terminal.stage.address}"\nkey = "{key}"\n')
    result = await terminal.run(*VERSION, KTMS_ADMIN_ADDR=None, KTMS_ADMIN_KEY=None)
    assert result.stdout == SERVED


async def test_where_nothing_names_an_address_it_is_the_default_one_of_this_machine(terminal: Terminal) -> None:
    result = await terminal.run(*VERSION, "--admin-key-file", "/gone", KTMS_ADMIN_ADDR=None)
    assert "travel" not in result.stderr  # loopback: no word about plain text
    assert "--admin-key-file: there is no file /gone" in result.stderr


async def test_flags_win_over_the_environment(terminal: Terminal) -> None:
    path = terminal.write("key", terminal.stage.tokens[Role.VIEWER])
    flags = ("--admin-addr", terminal.stage.address, "--admin-key-file", path)
    result = await terminal.run(
        *VERSION, *flags, KTMS_ADMIN_ADDR="127.0.0.1:1", KTMS_ADMIN_KEY=a_key(KeyKind.ADMIN)
    )
    assert result.stdout == SERVED


async def test_a_server_that_listens_everywhere_is_dialled_at_home(terminal: Terminal) -> None:
    result = await terminal.run(*VERSION, KTMS_ADMIN_ADDR=f"0.0.0.0:{terminal.stage.server.port}")
    assert result.stdout == SERVED


async def test_tls_with_an_authority_of_one_s_own(terminal: Terminal, certificates: Certificates) -> None:
    listen = Listen("127.0.0.1", 0, TlsFiles(certificates.cert, certificates.key))
    async with started(listen) as stage:
        there = replace(terminal, stage=stage)
        result = await there.run(
            *VERSION, "--admin-addr", f"localhost:{stage.server.port}", "--admin-ca", str(certificates.ca)
        )
        assert result.stdout == SERVED


async def test_a_server_with_an_unknown_certificate_gets_no_key(
    terminal: Terminal, certificates: Certificates
) -> None:
    listen = Listen("127.0.0.1", 0, TlsFiles(certificates.cert, certificates.key))
    async with started(listen) as stage:
        there = replace(terminal, stage=stage)
        result = await there.run(*VERSION, "--admin-addr", f"localhost:{stage.server.port}", "--admin-tls")
        assert result.exit_code == 1
        assert "no gateway answers at localhost" in result.stderr


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"KTMS_ADMIN_KEY": None}, "no admin key: set KTMS_ADMIN_KEY or KTMS_ADMIN_KEY_FILE"),
        ({"KTMS_ADMIN_KEY": "hunter2"}, "the admin key is not complete: expected ktms_adm_…"),
        ({"KTMS_ADMIN_KEY": a_key(KeyKind.CLIENT)}, "this is no admin key but a key that begins with ktms_sk_"),
        ({"KTMS_ADMIN_KEY": a_key(KeyKind.ADMIN)}, "does not know this admin key, or it was revoked"),
        ({"KTMS_ADMIN_ADDR": "9090"}, "KTMS_ADMIN_ADDR: expected host:port, such as 127.0.0.1:9090, got '9090'"),
        ({"KTMS_ADMIN_ADDR": "127.0.0.1:1"}, "no gateway answers at 127.0.0.1:1 (Connection refused"),
        ({"KTMS_ADMIN_ADDR": "192.0.2.1:9090"}, "the admin key would travel to 192.0.2.1:9090 in plain text"),
        ({"KTMS_ADMIN_KEY_FILE": "/gone"}, "KTMS_ADMIN_KEY: set either it or KTMS_ADMIN_KEY_FILE, not both"),
        ({"KTMS_ADMIN_KEY": None, "KTMS_ADMIN_KEY_FILE": "/gone"}, "KTMS_ADMIN_KEY_FILE: cannot read /gone"),
        ({"KTMS_LOG_LEVEL": "loud"}, "KTMS_LOG_LEVEL: expected one of debug, info, warning, error"),
    ],
)
async def test_a_connection_that_cannot_be_is_one_line_and_exit_code_1(
    terminal: Terminal, environment: dict[str, str | None], said: str
) -> None:
    result = await terminal.run(*VERSION, **environment)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("ktms: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--admin-addr", "nowhere"), "--admin-addr: expected host:port"),
        (("--admin-key-file", "/gone"), "--admin-key-file: there is no file /gone"),
        (("--admin-ca", "/gone"), "--admin-ca: cannot read /gone: No such file or directory"),
    ],
)
async def test_a_wrong_flag_is_named(terminal: Terminal, flags: tuple[str, str], said: str) -> None:
    result = await terminal.run(*VERSION, *flags)
    assert result.exit_code == 1
    assert said in result.stderr


async def test_a_key_file_open_to_others_is_refused(terminal: Terminal) -> None:
    path = terminal.write("key", terminal.stage.tokens[Role.VIEWER], 0o644)
    result = await terminal.run(*VERSION, "--admin-key-file", path)
    assert result.exit_code == 1
    assert f"chmod 600 {path}" in result.stderr


async def test_a_broken_configuration_of_the_user_is_named(terminal: Terminal) -> None:
    path = terminal.write("ktms/config.toml", "[admin\n")
    result = await terminal.run(*VERSION)
    assert f"{path} is not valid TOML" in result.stderr


async def test_a_wrong_address_in_the_user_s_configuration_is_named(terminal: Terminal) -> None:
    terminal.write("ktms/config.toml", '[admin]\naddr = "nowhere"\n')
    result = await terminal.run(*VERSION, KTMS_ADMIN_ADDR=None)
    assert "admin.addr in config.toml: expected host:port" in result.stderr


async def test_plain_text_to_another_machine_is_warned_about_when_it_was_accepted(terminal: Terminal) -> None:
    result = await terminal.run(*VERSION, "--admin-plaintext", "--admin-addr", "gateway.invalid:9")
    assert "warning: the admin plane speaks plain text on gateway.invalid" in result.stderr
