import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def said(*words: str) -> str:
    """Have a process of its own say one line; give what came to its standard error."""
    program = (
        "import sys; from pathlib import Path; from ktms.node.log import told_to\n"
        "path = Path(sys.argv[1]) if sys.argv[1:] else None\n"
        "told_to(path, lambda: 'now')('info', 'it runs')\n"
    )
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stderr


def test_without_a_file_lines_go_to_standard_error() -> None:
    assert said() == "now info    it runs\n"


def test_with_a_file_they_go_there_alone_unless_a_person_looks_on(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "agent.log"
    assert said(str(path)) == ""
    assert path.read_text() == "now info    it runs\n"


def test_where_the_file_cannot_be_written_lines_go_to_standard_error(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    path = tmp_path / "logs" / "agent.log"
    assert said(str(path)) == f"{path} cannot be written: File exists\nnow info    it runs\n"
