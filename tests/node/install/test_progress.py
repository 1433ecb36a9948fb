import io

from ktms.node.install.progress import MIB, Bar, bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_the_share_and_the_size() -> None:
    assert bar(50 * MIB, 100 * MIB) == f"[{'#' * 15}{'.' * 15}]  50 %  50 of 100 MiB"


def test_without_a_whole_only_the_size_is_known() -> None:
    assert bar(3 * MIB, None) == "3 MiB"


def test_more_than_the_whole_is_the_whole() -> None:
    assert "100 %" in bar(3 * MIB, 2 * MIB)


def test_outside_of_a_terminal_nothing_is_drawn() -> None:
    stream = io.StringIO()
    shown = Bar(stream, "model")
    shown.show(1, 2)
    shown.end()
    assert stream.getvalue() == ""


def test_it_is_drawn_again_only_when_it_has_grown() -> None:
    stream = Terminal()
    shown = Bar(stream, "model")
    for done in range(5000):
        shown.show(done, 1_000_000)
    assert stream.getvalue().count("\r") == 5


def test_a_line_is_left_behind_it_once() -> None:
    stream = Terminal()
    shown = Bar(stream, "model")
    shown.show(1, 2)
    shown.end()
    shown.end()
    assert stream.getvalue().endswith("MiB\n")
