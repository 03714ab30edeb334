"""Files that another session changed while this one worked: whoever locks one of them should read it again."""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.file_changes import FileChange
from commonplace.rooms.work import store


async def list_file_changes(call: Call, paths: Sequence[str]) -> list[FileChange]:
    rows = await store.list_changes_by_others(call.tx, call.own_session, paths)
    newest_first = {row["path"]: FileChange(row["path"], row["agent"], row["at"]) for row in reversed(rows)}
    return [newest_first[path] for path in paths if path in newest_first]
