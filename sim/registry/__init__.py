"""The failure matrix and the world scripts: what must be proven, when, and where it has been."""
