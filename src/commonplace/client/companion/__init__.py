"""`commonplace hook <agent>`, the program that an agent's hooks run.

`program.py` reads the event and writes the answer, `actions.py` does what the event calls for. How each agent spells
its events is in `client/agents/<agent>/hooks.py`. A hook runs before every edit: it imports little, waits at most a
second or so for the server, and never stops the agent.
"""
