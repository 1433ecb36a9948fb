from pathlib import Path

from ktms.config.places import config_home, data_home


def test_settings_of_a_user_lie_below_the_home_folder() -> None:
    assert config_home({"HOME": "/home/u"}) == Path("/home/u/.config/ktms")


def test_a_stated_folder_wins() -> None:
    environ = {"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}
    assert (config_home(environ), data_home(environ, as_root=False)) == (Path("/c/ktms"), Path("/d/ktms"))


def test_a_relative_folder_is_ignored_as_the_standard_says() -> None:
    assert config_home({"HOME": "/home/u", "XDG_CONFIG_HOME": "c"}) == Path("/home/u/.config/ktms")


def test_data_of_root_lie_where_another_user_can_enter() -> None:
    assert data_home({"HOME": "/root"}, as_root=True) == Path("/var/lib/ktms")


def test_data_of_root_lie_where_root_says() -> None:
    assert data_home({"HOME": "/root", "XDG_DATA_HOME": "/d"}, as_root=True) == Path("/d/ktms")
