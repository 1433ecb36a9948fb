"""What an operator does to a running `ktms serve`: keys, apply, export; the gateway follows without a restart."""

import re
from collections.abc import Iterator

import pytest

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.http import CHAT, Answer, ask, saying
from tests.e2e.serve_process import OWNER, Replica, one_model, prepared, serving
from tests.e2e.waiting import now, until

pytestmark = pytest.mark.service

NOTIFIED_WITHIN_S = 1.0
"""A notification takes milliseconds; 10 s is what is promised should it be lost (FP11)."""


@pytest.fixture(scope="module")
def replica(new_home: NewHome, new_database: NewDatabase, vendor_cloud: Cloud) -> Iterator[Replica]:
    with serving(new_home().folder, new_database(), {"KTMS_DRAIN_DELAY_S": "0"}) as running:
        prepared(running)
        parts = one_model(vendor_cloud)
        running.apply("first", **parts, client_keys=[declared.client_key("app", declared.APP_KEY)])
        until(lambda: chat(running, declared.APP_KEY).status == 200, "the first model is served")
        yield running


def chat(replica: Replica, key: str, model: str = declared.CLOUD) -> Answer:
    return ask(replica.url, CHAT, key=key, body=saying("hi", model=model))


def key_id(token: str) -> str:
    return token.split("_")[2]


def test_a_key_is_printed_alone_and_works_at_once(replica: Replica) -> None:
    done = replica.ktms("admin", "keys", "create", "fresh")
    assert re.fullmatch(r"ktms_sk_\w+\n", done.out)
    assert chat(replica, done.out.strip()).status == 200


def test_a_revoked_key_is_refused_as_soon_as_it_is_said(replica: Replica) -> None:
    key = replica.new_key("short-lived")
    assert chat(replica, key).status == 200
    assert replica.ktms("admin", "keys", "revoke", key_id(key)).code == 0
    began_at = now()
    until(lambda: chat(replica, key).status == 401, "the key is refused", 10)
    assert now() - began_at < NOTIFIED_WITHIN_S


def test_a_revoked_key_is_refused_like_any_unknown_one(replica: Replica) -> None:
    key = replica.new_key("gone")
    replica.ktms("admin", "keys", "revoke", key_id(key))
    until(lambda: chat(replica, key).status == 401, "the key is refused", 10)
    assert chat(replica, key).json == chat(replica, "ktms_sk_nothing").json


def test_a_token_is_never_listed_again(replica: Replica) -> None:
    key = replica.new_key("listed")
    listed = replica.ktms("admin", "keys", "list", "--all").out
    assert "listed" in listed
    assert key not in listed
    assert key[-20:] not in listed


def test_apply_shows_what_it_changes_and_the_gateway_serves_it(replica: Replica) -> None:
    began = replica.program.process.pid
    done = replica.apply("more", models=[declared.cloud_model("newer")])
    assert done.out == "+ model newer\n"
    until(lambda: chat(replica, declared.APP_KEY, "newer").status == 200, "the new model is served", 2)
    assert replica.program.process.pid == began
    assert replica.program.running


def test_a_dry_run_shows_the_same_and_changes_nothing(replica: Replica) -> None:
    file = declared.write_gateway(replica.home / "dry.yaml", models=[declared.cloud_model("never")])
    done = replica.ktms("apply", "-f", file, "--dry-run")
    assert (done.code, done.out) == (0, "+ model never\n")
    assert chat(replica, declared.APP_KEY, "never").status == 404


def test_a_bad_file_changes_nothing(replica: Replica) -> None:
    good, bad = declared.cloud_model("half"), declared.model("broken", ("nobody", "x"))
    file = declared.write_gateway(replica.home / "bad.yaml", models=[good, bad])
    done = replica.ktms("apply", "-f", file)
    assert done.code == 1
    assert re.search(r"bad\.yaml:\d+:\d+: .*nobody", done.err)
    assert chat(replica, declared.APP_KEY, "half").status == 404


def test_what_is_exported_and_applied_again_changes_nothing(replica: Replica) -> None:
    exported = replica.ktms("export")
    assert exported.code == 0
    file = replica.home / "exported.yaml"
    file.write_text(exported.out)
    again = replica.ktms("apply", "-f", file, "--prune")
    assert (again.code, again.out) == (0, "")
    assert "Nothing to change" in again.err
    assert chat(replica, declared.APP_KEY).status == 200


def test_an_export_holds_no_secret(replica: Replica) -> None:
    text = replica.ktms("export").out
    assert "cloud" in text
    assert not any(secret in text for secret in (declared.VENDOR_KEY, declared.APP_KEY, OWNER))


def test_an_unknown_admin_key_is_refused_in_one_line(replica: Replica) -> None:
    wrong = replica.home / "wrong.key"
    wrong.write_text("ktms_adm_nonsense\n")
    wrong.chmod(0o600)
    done = replica.ktms("admin", "keys", "list", "--admin-key-file", wrong)
    assert done.code == 1
    assert len(done.lines) == 1
