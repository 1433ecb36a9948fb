"""What happened in a run, as plain facts; knows nothing of the product, so chaos runs are judged by the same."""
