"""Names of git's own commands and options, as far as the gate needs them to read a command line."""

BUILT_IN_COMMANDS = frozenset([
    "add", "am", "annotate", "apply", "archive", "backfill", "bisect", "blame", "branch", "bugreport", "bundle",
    "cat-file", "check-attr", "check-ignore", "checkout", "checkout-index", "cherry", "cherry-pick", "clean",
    "clone", "commit", "commit-graph", "commit-tree", "config", "count-objects", "credential", "describe", "diff",
    "diff-files", "diff-index", "diff-tree", "difftool", "fast-export", "fast-import", "fetch", "fetch-pack",
    "filter-branch", "filter-repo", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "help",
    "history", "init", "lfs", "log", "ls-files", "ls-remote", "ls-tree", "maintenance", "merge", "merge-base",
    "merge-file", "merge-tree", "mergetool", "mktree", "mv", "name-rev", "notes", "pack-refs", "prune", "pull",
    "push", "range-diff", "read-tree", "rebase", "reflog", "remote", "repack", "replace", "replay",
    "request-pull", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "send-email",
    "shortlog", "show", "show-branch", "show-index", "show-ref", "sparse-checkout", "stage", "stash", "status",
    "stripspace", "submodule", "subtree", "switch", "symbolic-ref", "tag", "unpack-objects", "update-index",
    "update-ref", "update-server-info", "var", "verify-commit", "verify-pack", "version", "whatchanged",
    "worktree", "write-tree",
])  # fmt: skip
"""Commands that no alias replaces."""
LONG_OPTIONS = frozenset([
    "--abort", "--add", "--again", "--all", "--amend", "--autostash", "--cached", "--continue", "--copy",
    "--create", "--delete", "--detach", "--discard-changes", "--dry-run", "--expire", "--expire-unreachable",
    "--force", "--force-create", "--hard", "--include", "--index", "--keep", "--merge", "--mirror", "--move",
    "--only", "--orphan", "--patch", "--pathspec-from-file", "--prune", "--quit", "--reset", "--reverse",
    "--soft", "--source", "--staged", "--stdin", "--update", "--update-head-ok", "--worktree",
])  # fmt: skip
"""The options that the rules look for; git accepts them shortened."""
