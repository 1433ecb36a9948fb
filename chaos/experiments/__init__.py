"""What is broken, on purpose and on real services, and what must then be seen."""
