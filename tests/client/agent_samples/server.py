"""The server that the samples are connected to."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MCP = "http://127.0.0.1:9123/mcp"
BEARER = {"Authorization": "Bearer cp_test_key"}


def bearer(reference: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {reference}"}
