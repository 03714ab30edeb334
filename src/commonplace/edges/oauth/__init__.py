"""OAuth for remote use: this server as a resource server that accepts access tokens of one configured issuer.

`issuer_keys.py` has the issuer's public keys, `access_tokens.py` verifies a token, `token_callers.py` makes the caller of
it, `protected_resource.py` tells clients where to get one. It needs the extra `oauth` and is imported only where an issuer
is configured. Keys (`smk_...`) are not tokens: `edges/identity.py` finds both.
"""
