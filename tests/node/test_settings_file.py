import json
from pathlib import Path

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.settings import Tls, Tunnel
from ktms.node.settings_file import SettingsUnusable, parse_settings, read_settings, settings_text
from tests.node.nodes import KEY, settings

FULL = settings(
    "https://gw.example",
    engine=EngineKind.VLLM,
    models=("qwen3:4b", "m"),
    listen_host="0.0.0.0",
    public_url="https://node.example",
    tls=Tls.ON,
    tunnel=Tunnel.NAMED,
    tunnel_token_file="/home/x/.ktms/tunnel.token",
    slots=2,
    drain_s=5.0,
)


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "node.json"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("one", [FULL, settings()])
def test_what_was_written_is_read(tmp_path: Path, one: object) -> None:
    assert read_settings(written(tmp_path, settings_text(one))) == one  # type: ignore[arg-type]  # both are settings


def test_a_file_that_others_may_read_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsUnusable, match="chmod 600") as refused:
        read_settings(written(tmp_path, settings_text(FULL), 0o640))
    assert KEY not in str(refused.value)


def test_a_machine_that_is_no_node_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsUnusable, match="not installed as a node"):
        read_settings(tmp_path / "node.json")


@pytest.mark.parametrize(
    ("member", "value", "complaint"),
    [
        ("tls", "maybe", "tls must be one of off, on, insecure"),
        ("slots", "4", "slots has the wrong type"),
        ("listen_port", True, "listen_port has the wrong type"),
    ],
)
def test_a_wrong_member_is_named(member: str, value: object, complaint: str) -> None:
    content = json.loads(settings_text(FULL)) | {member: value}
    with pytest.raises(SettingsUnusable, match=complaint):
        parse_settings(json.dumps(content))


def test_a_missing_member_is_named() -> None:
    content = json.loads(settings_text(FULL))
    del content["node_key"]
    with pytest.raises(SettingsUnusable, match="node_key is missing"):
        parse_settings(json.dumps(content))


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(SettingsUnusable):
        parse_settings(text)


def test_members_of_a_later_release_are_passed_over() -> None:
    content = json.loads(settings_text(FULL)) | {"colour": "green"}
    assert parse_settings(json.dumps(content)) == FULL


def test_a_key_is_never_shown() -> None:
    assert KEY not in repr(settings(node_key=Secret(KEY)))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("gateway", ""),
        ("gateway", "gw.example"),
        ("gateway", "http://gw.example:99999"),
        ("gateway", "http://[::1"),
        ("gateway", "http://anna:hers@gw.example"),
        ("engine_url", "http://127.0.0.1:11434/?a"),
        ("public_url", "https://node.example\n"),
        ("node_key", ""),
        ("node_key", "a\r\nb"),
        ("node_token", ""),
        ("node_token", "é"),
        ("listen_host", "\0"),
        ("listen_port", 0),
        ("listen_port", 65536),
        ("slots", 0),
        ("slots", 1025),
        ("drain_s", -1),
        ("drain_s", 1e999),
    ],
)
def test_a_value_that_cannot_be_is_named_and_not_shown(member: str, value: object) -> None:
    content = json.loads(settings_text(FULL)) | {member: value}
    text = json.dumps(content).replace("Infinity", "1e999")
    with pytest.raises(SettingsUnusable, match=f"node.json: {member} must be ") as refused:
        parse_settings(text)
    assert "hers" not in str(refused.value)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"drain_s": NaN}'])
def test_json_that_nobody_writes_is_refused_too(text: str) -> None:
    with pytest.raises(SettingsUnusable, match="is not JSON"):
        parse_settings(text)
