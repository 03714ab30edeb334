"""The HTTP floor that every route shares: MCP, REST, archives, event streams, probes.

    listener.py      uvicorn, and a deadline for request heads that arrive too slowly
    router.py        one request: host and origin, caller, route, refusals, the outermost `except`
    request.py       headers, a body that is bounded before it is read, and JSON with hostile input refused
    response.py      a whole answer, a refusal or server-sent events, with the same security headers
    refusals.py      refusals that only HTTP knows

A route is `async def route(request, response)`. `edges/application.py` lists the routes.
"""
