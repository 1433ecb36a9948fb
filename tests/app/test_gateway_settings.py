from ipaddress import ip_network

from ktms.adapters.telemetry.access_line import LogFormat
from ktms.app.gateway_settings import CONNECTIONS_MIN, FILES_ASIDE, address_rules, gateway_settings, log_settings
from ktms.config.settings import LogLevel, Settings
from ktms.domain.snapshot import Reach

FILES = 1024


def test_the_defaults_of_both_sides_agree() -> None:
    made = gateway_settings(Settings(), drain_delay_s=5, files_max=FILES)
    assert (made.engine.key_window_s, made.engine.hold_status_s, made.shutdown_s) == (300, 10, 30)


def test_what_an_operator_sets_arrives() -> None:
    settings = Settings(key_window_s=60, hold_status_s=3, shutdown_timeout_s=7)
    made = gateway_settings(settings, drain_delay_s=0, files_max=FILES)
    assert (made.engine.key_window_s, made.engine.hold_status_s) == (60, 3)
    assert (made.shutdown_s, made.drain_delay_s) == (7, 0)


def test_with_the_defaults_a_process_is_gone_within_its_forty_seconds() -> None:
    made = gateway_settings(Settings(), drain_delay_s=Settings().drain_delay_s, files_max=FILES)
    assert made.drain_delay_s + made.shutdown_s + made.flush_s < 40


def test_a_log_goes_where_it_is_told_at_its_level() -> None:
    made = log_settings(Settings(log_level=LogLevel.ERROR), log_format=LogFormat.CONSOLE, fd=2)
    assert (made.level, made.log_format, made.fd) == ("error", LogFormat.CONSOLE, 2)


def test_nodes_on_this_machine_are_dialled_only_where_that_is_meant() -> None:
    for loopback in (True, False):
        refusal = address_rules(Settings(), loopback_nodes=loopback).refusal(Reach.NODE, "127.0.0.1")
        assert (refusal is None) == loopback


def test_the_networks_of_nodes_are_those_that_were_set() -> None:
    rules = address_rules(Settings(node_allowed_cidrs=(ip_network("10.1.0.0/16"),)), loopback_nodes=False)
    assert rules.refusal(Reach.NODE, "10.1.2.3") is None
    assert rules.refusal(Reach.NODE, "10.2.2.3") is not None


def test_fg8_clients_may_hold_half_of_the_files_that_the_process_may_open() -> None:
    made = gateway_settings(Settings(), drain_delay_s=0, files_max=FILES_ASIDE + 2000)
    assert made.listener.connections_max == 1000


def test_fg8_however_few_files_there_are_some_clients_are_served() -> None:
    made = gateway_settings(Settings(), drain_delay_s=0, files_max=40)
    assert made.listener.connections_max == CONNECTIONS_MIN
