"""Finding by words and by meaning: what is put here in a transaction is found by the next call."""
