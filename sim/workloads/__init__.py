"""What clients ask of a world, drawn from its seed."""
