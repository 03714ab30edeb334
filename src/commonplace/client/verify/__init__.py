"""Compare what documents cite with a checkout."""
