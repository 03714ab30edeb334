"""The resource spec://{project}/{name}: a spec at its latest version."""

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.specs import model, store


@operation("resource:spec", role="readonly", session=False)
async def read_spec(call: Call, project: str, name: model.SpecName) -> model.Spec:
    """Get a spec at its latest version."""
    spec = await store.load_spec(call.tx, project, name)
    if spec is None:
        raise errors.NotFound(
            f"Spec '{name}' does not exist in '{project}'.", hint="Find its name with memory_list_specs."
        )
    return model.Spec.from_row(spec, await store.load_latest_version(call.tx, spec), call.now)


SPEC = Resource("spec://{project}/{name}", "A spec at its latest version", read_spec)
