"""What goes wrong in a world: a typed plan that can be drawn, written into one line, and shrunk."""
