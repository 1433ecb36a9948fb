"""What was asked and answered, in one form for all dialects."""
