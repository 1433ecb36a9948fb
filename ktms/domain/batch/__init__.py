"""Files and batches: what a batch is, how it moves on, who runs which line."""
