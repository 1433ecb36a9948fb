from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from ktms.config.gateway_file import (
    GATEWAY_FILE_MAX_BYTES,
    GatewayFile,
    GatewayFileInvalid,
    load_gateway,
    read_gateway,
    read_gateway_text,
)
from ktms.config.secret_file import ReadFile
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, DollarLimitMode, Selection, TimeoutSpec, VendorKind
from ktms.domain.complaint import Complaint
from ktms.domain.placement import Placement

Files = Callable[..., ReadFile]

PATH = Path("etc/gateway.yaml")

WHOLE = """\
version: 1
vendors:
  - name: openai
    kind: openai
    base_url: https://api.openai.com/v1
    region: us
    keys: [{env: OPENAI_API_KEY}, {file: second}]
    timeouts: {connect_s: 5, first_token_s: 60, idle_s: 0.5, total_s: 600}
    headers: {x-team: a}
    private: false
models:
  - name: 3gk-llm
    aliases: [default]
    context_window: 32768
    queue_timeout_ms: 2000
    placement: nodes_first
    placement_lock: false
    selection: weighted
    cache: {ttl_s: 60}
    targets:
      - {vendor: local, model: "qwen3:4b"}
      - {vendor: openai, model: gpt-4o-mini, weight: 1}
chains:
  - name: auto
    default_tier: medium
    tiers: {high: [3gk-llm], medium: [3gk-llm], low: [3gk-llm]}
nodes:
  - name: mac-1
    url: http://10.0.0.7:8790
    token: {value: a-node-token}
    region: fr
    enabled: true
    slots: 4
    models: [{name: "qwen3:4b", context_window: 8192}]
prices:
  - {vendor: openai, model: gpt-4o-mini, input: "0.15", cached_input: 0.075, output: "0.60"}
  - {vendor: openai, model: gpt-4o-mini, input: "0.10", output: "0.40", valid_from: 2027-02-01}
tenants:
  - {name: team-a, limits: {usd_per_month: "500"}}
client_keys:
  - name: app-1
    tenant: team-a
    models: [3gk-llm, auto]
    limits: {rpm: 600, tpm: 200000, concurrent: 50, usd_per_day: "20.5"}
    dollar_limit_mode: closed
    cache_ttl_s: 30
    interactive: false
    expires_at: 2027-01-31
policy: {placement: nodes_first, force_cloud: false, allowed_regions: [], band: .inf, retry: {attempts_max: 5}}
"""


@pytest.fixture
def read(files: Files) -> Callable[[str], GatewayFile]:
    def read_text(text: str) -> GatewayFile:
        return read_gateway(PATH, text, {"OPENAI_API_KEY": "sk-1"}, files(second=("sk-2", 0o600)))

    return read_text


Read = Callable[[str], GatewayFile]


def lines(read: Read, text: str) -> tuple[str, ...]:
    with pytest.raises(GatewayFileInvalid) as invalid:
        read(text).check()
    return invalid.value.lines


def test_the_documented_file_gives_its_catalogue(read: Read) -> None:
    catalogue = read(WHOLE).catalogue
    vendor, model, node, key = (
        catalogue.vendors[0],
        catalogue.models[0],
        catalogue.nodes[0],
        catalogue.client_keys[0],
    )
    assert vendor.kind is VendorKind.OPENAI
    assert vendor.keys == (Secret("sk-1"), Secret("sk-2"))
    assert vendor.timeouts == TimeoutSpec(5, 60, 0.5, 600)
    assert isinstance(vendor.timeouts.idle_s, float)
    assert (model.cache_ttl_s, model.selection, model.placement) == (60, Selection.WEIGHTED, Placement.NODES_FIRST)
    assert catalogue.chains[0].tiers["low"] == ("3gk-llm",)
    assert key.cache_ttl_s == 30
    assert node.token == Secret("a-node-token")
    assert catalogue.prices[0].cached_input == Decimal("0.075")
    assert [price.valid_from for price in catalogue.prices] == [None, 1_801_440_000]
    assert catalogue.tenants[0].limits == Limits(usd_per_month_micros=500_000_000)
    assert key.limits == Limits(600, 200_000, 50, 20_500_000)
    assert key.dollar_limit_mode is DollarLimitMode.CLOSED
    assert key.expires_at == 1_801_353_600
    assert (catalogue.policy.band, catalogue.policy.attempts_max) == (float("inf"), 5)


def test_the_documented_file_holds_together(read: Read) -> None:
    read(WHOLE).check()


def test_the_least_file_gives_an_empty_catalogue(read: Read) -> None:
    assert read("version: 1").catalogue == Catalogue()


@pytest.mark.parametrize(("text", "states"), [("version: 1", False), ("version: 1\npolicy: {}", True)])
def test_a_file_knows_whether_it_states_a_policy(read: Read, text: str, states: bool) -> None:
    assert read(text).states_policy is states


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("kind: openai\n", "kind: opnai\n",
         ("etc/gateway.yaml:4:11: vendors[0].kind: expected one of openai, azure_openai, anthropic, gemini, "
          "got 'opnai' (did you mean 'openai'?)")),
        ("base_url:", "base_ur:", "etc/gateway.yaml:3:5: vendors[0]: field 'base_url' is missing"),
        ("vendor: openai, model: gpt-4o-mini, w", "vendor: opnai, model: gpt-4o-mini, w",
         "etc/gateway.yaml:22:18: models[0].targets[1].vendor: there is no vendor 'opnai'"),
        ("{env: OPENAI_API_KEY}", "{env: GONE}",
         "etc/gateway.yaml:7:12: vendors[0].keys[0]: environment variable GONE is not set"),
        ("{file: second}", "{file: gone}",
         "etc/gateway.yaml:7:35: vendors[0].keys[1]: cannot read etc/gone: No such file or directory"),
        ('"500"', '"0.0000001"',
         "etc/gateway.yaml:39:44: tenants[0].limits.usd_per_month: expected dollars with at most 6 decimals"),
        ('"0.15"', "-0.15",
         ("etc/gateway.yaml:36:49: prices[0].input: must be dollars per million tokens, 0 to 10000, "
          "with at most 6 decimals")),
        ('"0.60"', '"0.60", valid_from: soon',
         ("etc/gateway.yaml:36:106: prices[0].valid_from: expected a date such as 2027-01-31 or "
          "2027-01-31T12:00:00Z")),
        ("2027-01-31", "soon",
         ("etc/gateway.yaml:48:17: client_keys[0].expires_at: expected a date such as 2027-01-31 or "
          "2027-01-31T12:00:00Z")),
        ("version: 1\n", "version: 1\nversion: 1\n",
         "etc/gateway.yaml:2:1: 'version' stands here twice (first in line 1)"),
        ("version: 1\n", "", "etc/gateway.yaml:1:1: field 'version' is missing"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_column_and_field(read: Read, old: str, new: str, line: str) -> None:
    assert WHOLE.count(old) >= 1
    assert line in lines(read, WHOLE.replace(old, new, 1))


def test_mistakes_come_in_the_order_of_the_file(read: Read) -> None:
    found = lines(read, "version: 1\npolicy: {bnd: 1}\nmodels: [{nme: a}]\nvendors: 3\n")
    assert [line.split(":")[1] for line in found] == ["2", "3", "3", "4"]


def test_many_mistakes_are_counted_beyond_what_fits_a_screen(read: Read) -> None:
    found = lines(read, "version: 1\n" + "".join(f"x{n}: 1\n" for n in range(60)))
    assert (len(found), found[-1]) == (51, "and 10 more")


def test_fields_the_domain_names_otherwise_are_placed_too(read: Read) -> None:
    file = read(WHOLE)
    assert file.line(Complaint(("models", 0, "cache_ttl_s"), "too long")) == (
        "etc/gateway.yaml:19:20: models[0].cache.ttl_s: too long"
    )
    assert ":49:109: policy.retry.attempts_max: too many" in file.line(
        Complaint(("policy", "attempts_max"), "too many")
    )


def test_no_secret_is_in_a_file_as_it_prints(read: Read) -> None:
    assert "sk-1" not in repr(read(WHOLE))
    assert "a-node-token" not in repr(read(WHOLE))


def test_a_file_is_loaded_from_disk_with_its_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    (tmp_path / "second").write_text("sk-2\n")
    (tmp_path / "gateway.yaml").write_text(WHOLE)
    assert load_gateway(tmp_path / "gateway.yaml").catalogue.vendors[0].keys == (Secret("sk-1"), Secret("sk-2"))


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1\n")
    assert read_gateway_text(path) == "version: 1\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"version: 1\n# \xff\n", ":2:1: not UTF-8 text"), (b"#" * (GATEWAY_FILE_MAX_BYTES + 1), ": larger than")],
)
def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_bytes(content)
    with pytest.raises(GatewayFileInvalid, match=said):
        read_gateway_text(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GatewayFileInvalid, match=r"gone.yaml: cannot be read: No such file or directory"):
        load_gateway(tmp_path / "gone.yaml")
