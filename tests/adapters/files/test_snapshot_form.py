import math
from dataclasses import replace

import msgspec
import pytest

from ktms.adapters.files.snapshot_form import KEYS_PER_PIECE, FormUnknown, decode_snapshot, encode_snapshot
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, PolicySpec
from ktms.domain.joined_node import leaving
from tests.saved_snapshots import saved_snapshot_of, verified_key

BOOT = "boot-1"


def through_bytes(catalogue: Catalogue) -> Catalogue:
    saved = replace(saved_snapshot_of(), catalogue=catalogue)
    return decode_snapshot(encode_snapshot(saved, BOOT), BOOT).catalogue


def test_it_comes_out_as_it_went_in() -> None:
    kept = saved_snapshot_of(keys=(verified_key(1, revoked=True), verified_key(2)))
    assert decode_snapshot(encode_snapshot(kept, BOOT), BOOT) == kept


def test_more_keys_than_fit_into_one_piece_stay_in_their_order() -> None:
    kept = saved_snapshot_of(keys=tuple(verified_key(number) for number in range(2 * KEYS_PER_PIECE + 1)))
    assert decode_snapshot(encode_snapshot(kept, BOOT), BOOT).keys == kept.keys


def test_a_node_that_drains_goes_on_draining() -> None:
    catalogue = saved_snapshot_of().catalogue
    back = through_bytes(replace(catalogue, nodes=tuple(leaving(node) for node in catalogue.nodes)))
    assert [node.draining for node in back.nodes] == [True, True]


def test_a_band_without_an_end_stays_one() -> None:
    catalogue = saved_snapshot_of().catalogue
    assert through_bytes(replace(catalogue, policy=PolicySpec(band=math.inf))).policy.band == math.inf


@pytest.mark.parametrize(("before", "now"), [("boot-1", "boot-2"), ("", ""), ("boot-1", ""), ("", "boot-1")])
def test_the_monotonic_clock_is_believed_only_since_one_start_of_the_machine(before: str, now: str) -> None:
    assert decode_snapshot(encode_snapshot(saved_snapshot_of(), before), now).saved_at.monotonic is None


@pytest.mark.parametrize("data", [b"", b"\x00", b"{}", msgspec.msgpack.encode([]), msgspec.msgpack.encode([b"x"])])
def test_other_bytes_are_no_snapshot(data: bytes) -> None:
    with pytest.raises(FormUnknown):
        decode_snapshot(data, BOOT)


def test_a_later_form_is_not_guessed_at() -> None:
    first, *keys = msgspec.msgpack.decode(encode_snapshot(saved_snapshot_of(), BOOT), type=list[bytes])
    members = msgspec.msgpack.decode(first)
    later = msgspec.msgpack.encode([msgspec.msgpack.encode({**members, "form": 2}), *keys])
    with pytest.raises(FormUnknown):
        decode_snapshot(later, BOOT)


def test_members_that_this_release_does_not_know_are_ignored() -> None:
    first, *keys = msgspec.msgpack.decode(encode_snapshot(saved_snapshot_of(), BOOT), type=list[bytes])
    members = msgspec.msgpack.decode(first)
    more = msgspec.msgpack.encode([msgspec.msgpack.encode({**members, "more": 1}), *keys])
    assert decode_snapshot(more, BOOT) == saved_snapshot_of()


def test_secrets_are_read_as_secrets() -> None:
    back = decode_snapshot(encode_snapshot(saved_snapshot_of(), BOOT), BOOT)
    assert all(isinstance(secret, Secret) for vendor in back.catalogue.vendors for secret in vendor.keys)


def test_a_secret_that_is_no_text_is_no_secret() -> None:
    first, *_ = msgspec.msgpack.decode(encode_snapshot(saved_snapshot_of(), BOOT), type=list[bytes])
    members = msgspec.msgpack.decode(first)
    members["saved"]["catalogue"]["vendors"][0]["keys"] = [7]
    with pytest.raises(FormUnknown):
        decode_snapshot(msgspec.msgpack.encode([msgspec.msgpack.encode(members)]), BOOT)
