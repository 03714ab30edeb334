"""Protocols of the server. An edge reads its protocol, asks identity.py who calls, and runs an operation by its name.

    application.py     every HTTP route on one screen
    http/              the floor below every route: bounds, refusals, security headers, event streams
    mcp/               the Model Context Protocol, both eras, over HTTP and stdio; product_host.py is what it serves
    rest.py            POST /api/<operation> and OpenAPI
    archives.py        /archives: transcripts as bytes
    project_events.py  /events: the events of a project as a stream
    readiness.py       /live, /health, /ready, /metrics; metrics.py has the figures

What runs beside agents is in client/, the command line in cli/.
"""
