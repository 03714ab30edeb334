"""spec://{project}/{name}: a spec as it is now."""

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.specs import model, store


@operation("resource:spec", role="readonly", session=False)
async def read_spec(call: Call, project: str, name: model.Name) -> model.Spec:
    """A spec at its latest version."""
    spec = await store.one(call.tx, project, name)
    if spec is None:
        raise errors.NotFound(f"There is no spec '{name}' in '{project}'.")
    return model.Spec.of(spec, await store.latest(call.tx, spec), call.now)


SPEC = Resource("spec://{project}/{name}", "A spec at its latest version", read_spec)
