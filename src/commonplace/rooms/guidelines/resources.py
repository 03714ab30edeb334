"""The resource guidelines://{scope}: the rules of a project, or the global ones."""

from commonplace import access
from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.guidelines import model, store


@operation("resource:guidelines", role="readonly", session=False)
async def read_guidelines(call: Call, scope: model.GuidelineScope) -> model.GuidelineListing:
    """The guidelines of a project, or the global ones, by priority."""
    if scope != model.GLOBAL_SCOPE:
        call.project = call.resolve_project(scope)
    project = access.ALL_PROJECTS if scope == model.GLOBAL_SCOPE else call.project
    rows = await store.list_guidelines_of_projects(call.tx, [project])
    return model.GuidelineListing(count=len(rows), guidelines=[model.Guideline.from_row(row) for row in rows])


GUIDELINES = Resource("guidelines://{scope}", "Guidelines of a project, or `global`", read_guidelines)
