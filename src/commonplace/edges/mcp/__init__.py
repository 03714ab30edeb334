"""The Model Context Protocol, both eras of it, over HTTP and stdio. It knows no rooms: the product is a `Host`.

    host.py                what the protocol asks of the product (`Host`), and one request as it sees it (`McpContext`)
    messages.py            JSON-RPC: reading a message, error codes, exactly one reply per request
    methods.py             the methods that both eras share: tools, resources, prompts, completion
    modern/                2026-07-28: every request stands alone; `server/discover`, `subscriptions/listen`
    legacy/                2025-11-25 and older: `initialize`, sessions, the GET stream, `resources/subscribe`
    publisher.py           who subscribed to what
    signed_tokens.py       what a client carries for us and cannot change
    http_transport.py      /mcp on the HTTP floor (edges/http/); decides the era of each message
    stdio_transport.py     the same on one pipe; stdio_lines.py reads and writes its lines

The product's host is edges/product_host.py.
"""
