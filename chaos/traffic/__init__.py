"""Who asks: clients that come at a rate whatever the answers, what they saw, and what was booked for them."""
