"""Where a call goes next: names, placement, plan, breakers, cooldowns, outcomes, timers."""
