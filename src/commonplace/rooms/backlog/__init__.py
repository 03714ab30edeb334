"""Work to be done: what it needs, who has it, and everything that became of it."""

from commonplace.rooms.backlog.offers import finders, work_section
from commonplace.rooms.backlog.operations import (
    add_backlog_item,
    batch_backlog,
    complete_backlog_item,
    list_backlog,
    update_backlog_item,
)
from commonplace.rooms.backlog.resources import BACKLOG

TOOLSET = "work"
OPERATIONS = (add_backlog_item, list_backlog, update_backlog_item, complete_backlog_item, batch_backlog)
BOOT_SECTIONS = (work_section,)
FINDERS = finders
RESOURCES = (BACKLOG,)
