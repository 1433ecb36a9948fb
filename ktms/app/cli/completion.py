"""`ktms completion`: the script that teaches a shell to complete our commands."""

import click
from click.shell_completion import get_completion_class

from ktms.app.cli.example import example
from ktms.app.cli.screen import put_raw

PROGRAM = "ktms"

VARIABLE = "_KTMS_COMPLETE"
"""How the script asks us for words; click's own form of the name."""


@click.command(
    epilog=example(
        "# for this session, or for good",
        'eval "$(ktms completion bash)"',
        "ktms completion fish > ~/.config/fish/completions/ktms.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None, "the choices above are click's"
    put_raw(kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source() + "\n")
