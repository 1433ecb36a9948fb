"""What an agent finds out about its engine, in the engine's own words; nothing here ever restarts or stops one."""
