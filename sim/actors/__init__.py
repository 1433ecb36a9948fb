"""Who acts in a world besides the gateways: clients with their manners, operators."""
