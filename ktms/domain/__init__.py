"""Rules of the gateway: pure, synchronous, standard library only; no clock, chance, logging or I/O."""
