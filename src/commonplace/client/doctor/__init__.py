"""What `commonplace doctor` looks at on a machine with agents: the program, the server, hooks, guard and uploads.

What only the server knows is its operation `inspect_server`; what needs the store itself is in `cli/doctor.py`.
"""
