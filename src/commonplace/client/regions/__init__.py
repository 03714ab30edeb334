"""Which lines of a file an edit changes, so that it leases these and not the file (decision 0025)."""
