"""`ktms admin`: everything that asks or changes a running gateway."""

import click

from ktms.app.cli.batches import batches
from ktms.app.cli.chains import chains
from ktms.app.cli.example import example
from ktms.app.cli.keys import keys
from ktms.app.cli.models import models
from ktms.app.cli.nodes import nodes
from ktms.app.cli.policy import policy
from ktms.app.cli.served_version import served_version
from ktms.app.cli.usage import usage


@click.group(epilog=example("ktms admin keys list"))
def admin() -> None:
    """Administer a running gateway over its admin API.

    Address and key come from flags, from KTMS_ADMIN_ADDR and KTMS_ADMIN_KEY, or from ~/.config/ktms/config.toml.
    """


admin.add_command(keys)
admin.add_command(batches)
admin.add_command(nodes)
admin.add_command(models)
admin.add_command(chains)
admin.add_command(policy)
admin.add_command(usage)
admin.add_command(served_version)
