"""Rules that every agent reads first: global ones, then those of its project."""

from commonplace.rooms.guidelines.operations import BOOT_SECTIONS, guidelines

TOOLSET = "admin"
OPERATIONS = (guidelines,)

__all__ = ["BOOT_SECTIONS", "OPERATIONS", "TOOLSET"]
