"""The commands of a person: search, show, who, inbox and backlog, on the server that `server_choice.py` finds.

Their flags are in `client/commands/people_parser.py`. Each calls the operations that everybody calls.
"""
