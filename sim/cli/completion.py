"""`ktms-sim completion`: the script that teaches a shell to complete our commands."""

import click
from click.shell_completion import get_completion_class

from sim.cli.example import PROGRAM, example

VARIABLE = "_KTMS_SIM_COMPLETE"
"""How the script asks us for words; click's own form of the name."""


@click.command(
    epilog=example(
        "# for this session, or for good",
        'eval "$(ktms-sim completion bash)"',
        "ktms-sim completion fish > ~/.config/fish/completions/ktms-sim.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None, "the choices above are click's"
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source())
