"""`commonplace verify`: compare the citations of documents with a checkout.

`citation.py` parses a cited place, `definitions.py` finds a symbol in a file, `verification.py` compares fingerprints and
reports. Only hashes leave the machine, unless somebody asks for the cited lines to be sent.
"""
