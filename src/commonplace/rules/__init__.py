"""Rules that hold: what a guideline may enforce, and which rules fire for an edit, a command, a commit, a prompt or a stop.

`rule_schema.py` validates what an admin sets (only the server needs it); `rule.py` is what the hooks read from their
cache; `rule_check.py` finds the rules that fire. Nothing here calls a server or runs a command: the hooks hand in what
is about to happen (`client/rules/`), and `memory_rule_test` what somebody asks about.
"""
