"""Interfaces that agents agreed on, in versions that rise, each with one owner."""

from commonplace.rooms.specs.offers import finders, state_section
from commonplace.rooms.specs.operations import define_spec, get_spec, list_specs
from commonplace.rooms.specs.resources import SPEC

TOOLSET = "work"
OPERATIONS = (define_spec, get_spec, list_specs)
BOOT_SECTIONS = (state_section,)
FINDERS = finders
RESOURCES = (SPEC,)
