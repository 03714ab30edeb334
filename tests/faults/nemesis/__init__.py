"""A nemesis for the whole product: processes under faults, a history of what clients saw, and a checker of it.

`run.py` runs one round; `docs/faults.md` says what is tested and how to repeat a run.
"""
