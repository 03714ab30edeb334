"""Search by words and by meaning. What a transaction puts into the index is found by the next call."""
