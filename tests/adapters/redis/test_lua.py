import re

from ktms.adapters.redis.lua import FOLDER, Script, Scripts, read_scripts


def test_every_file_is_a_script_and_every_script_has_its_file() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {*Scripts.__dataclass_fields__, "account"}


def test_scripts_about_limits_begin_with_what_they_share() -> None:
    shared = (FOLDER / "account.lua").read_text()
    scripts = read_scripts()
    about_limits = {scripts.reserve, scripts.settle, scripts.beat, scripts.declare, scripts.raise_spent}
    assert {script for script in scripts.all() if script.source.startswith(shared)} == about_limits


def test_all_of_them_are_given_with_their_digests() -> None:
    scripts = read_scripts()
    digests = {script.digest for script in scripts.all()}
    assert len(digests) == len(Scripts.__dataclass_fields__)
    assert all(re.fullmatch("[0-9a-f]{40}", digest) for digest in digests)
    assert isinstance(scripts.take, Script)


def test_no_script_takes_the_time_or_a_key_from_elsewhere() -> None:
    for script in read_scripts().all():
        code = re.sub(r"--[^\n]*", "", script.source)
        assert "ktms" not in code
        assert "os." not in code
