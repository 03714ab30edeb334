"""Names of PostgreSQL's own catalog, settings and functions that a statement may or may not use."""

import re

# They contain passwords of other servers.
SECRET_VIEWS = re.compile(r"_?pg_|.*user_mapping|.*foreign_server|.*foreign_data_wrapper")
SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema"})
# Settings that name files, hosts or credentials of the server.
SECRET_SETTINGS = re.compile(
    r"all$|.*(file|directory|directories|command|path|conninfo|library|libraries|password|ssl_|krb_|listen_|socket)",
    re.IGNORECASE,
)
READABLE_SETTINGS = frozenset({"search_path", "password_encryption"})
# Built-in or bundled functions with effects: files, sleep, locks, sequences, large objects, other connections, SQL in a
# string, signals, replication. The catalog check would refuse most of them too, but only after connecting.
ACTING_FUNCTIONS = re.compile(
    r"pg_|lo_|lo(read|write)$|dblink|binary_upgrade_|brin_|gin_clean|(query|table|schema|database|cursor)_to_xml"
    r"|ts_(stat|rewrite)$|set_config$|(next|set|curr|last)val$|setseed$|txid_|inet_|crosstab|connectby$"
    r"|x(path_|slt_)|postgres_fdw_|file_fdw_|current_query$|currtid|bt_index|heap_|get_raw_page|page_header"
    r"|row_security|array_fill$|ts_debug$|getpgusername$"
)
# Well-known extensions whose functions only compute.
TRUSTED_EXTENSIONS = frozenset(
    {
        "btree_gin",
        "btree_gist",
        "citext",
        "cube",
        "earthdistance",
        "fuzzystrmatch",
        "hstore",
        "intarray",
        "isn",
        "ltree",
        "pg_trgm",
        "pgcrypto",
        "postgis",
        "seg",
        "unaccent",
        "uuid-ossp",
        "vector",
    }
)
SAMPLING_METHODS = frozenset({"bernoulli", "system"})
EXPLAIN_OPTIONS = frozenset(
    {
        "analyze",
        "buffers",
        "costs",
        "format",
        "generic_plan",
        "memory",
        "serialize",
        "settings",
        "summary",
        "timing",
        "verbose",
        "wal",
    }
)
