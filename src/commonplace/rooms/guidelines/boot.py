"""The boot section `guidelines`: global rules, then those of the project."""

from commonplace import access
from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.guidelines import model, store


async def list_guideline_rules(call: Call, start: StartingSession) -> list[model.BootGuideline]:
    rows = await store.list_guidelines_of_projects(call.tx, [access.ALL_PROJECTS, start.project])
    return [
        model.BootGuideline(
            name=row["name"],
            rule=row["rule"],
            by=row["updated_by"],
            enforced=model.decode_enforcement(row["enforce"]).get("do", ""),
        )
        for row in rows
    ]


GUIDELINES_SECTION = BootSection("guidelines", 0, list_guideline_rules)
