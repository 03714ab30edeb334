"""Databases of the operator that agents may read, and nothing more than read."""

from commonplace.rooms.databases.operations import db

TOOLSET = "code"
OPERATIONS = (db,)
