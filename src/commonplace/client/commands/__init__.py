"""The commands that are clients of a server, one module per command; `client_parser.py` has their flags and help."""
