"""`python -m ktms.config > ktms/config/gateway.schema.json`: writes the schema that is shipped."""

import sys

from ktms.config.schema import gateway_schema

if __name__ == "__main__":
    sys.stdout.write(gateway_schema())
