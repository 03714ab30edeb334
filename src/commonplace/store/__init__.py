"""The store: one interface, two adapters, numbered migrations."""
