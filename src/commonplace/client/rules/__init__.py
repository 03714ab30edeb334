"""Rules at the agents' side: the hooks and the commit guard decide from a cache, without a round trip.

`rule_cache.py` keeps the rules of a project, `rule_answer.py` turns a fired rule into the answer of a hook. What a rule
is and when it fires: `commonplace/rules/`.
"""
