from ktms.adapters.redis.keys import EPOCH, TRIAL, duty_key, leases_of, report_of, spoken_of, waiters_of
from ktms.domain.ids import ModelName, NodeName


def test_all_keys_share_one_hash_tag_whatever_a_name_holds() -> None:
    node = NodeName("{a}")
    names = (leases_of(node), report_of(node), spoken_of(node), waiters_of(ModelName("x{y}")), duty_key("}"))
    for key in (EPOCH, TRIAL, *names):
        assert key[key.index("{") + 1 : key.index("}")] == "ktms:fleet"


def test_no_two_kinds_of_keys_are_the_same() -> None:
    node = NodeName("a")
    keys = {leases_of(node), report_of(node), spoken_of(node), waiters_of(ModelName("a")), duty_key("a")}
    assert len(keys) == 5
