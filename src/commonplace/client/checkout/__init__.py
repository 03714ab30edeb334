"""One working tree that several agents share: whose each uncommitted line is, commits of one's own lines, and the
restoring of what a command of another destroyed. `checkout.py` is the way in."""
