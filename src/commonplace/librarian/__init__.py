"""Keep the server's function registry in step with source code.

Source is parsed with tree-sitter, without a language model (only `enrich.py` asks one). The package calls operations
by name and imports no room. Start at `scan.py` and `registry.py`.
"""
