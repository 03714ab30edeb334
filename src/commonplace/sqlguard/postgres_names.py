"""What a statement may not name of PostgreSQL's own catalogue, settings and functions."""

import re

# Passwords of other servers stand in these.
SECRET_VIEWS = re.compile(r"_?pg_|.*user_mapping|.*foreign_server|.*foreign_data_wrapper")
SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema"})
# Settings that name files, hosts or credentials of the server.
SECRET_SETTINGS = re.compile(
    r"all$|.*(file|directory|directories|command|path|conninfo|library|libraries|password|ssl_|krb_|listen_|socket)",
    re.IGNORECASE,
)
READABLE_SETTINGS = frozenset({"search_path", "password_encryption"})
# Built-in or shipped functions that act: files, sleep, locks, sequences, large objects, other connections, SQL in a
# string, signals, replication. The catalogue would refuse most of them too; here the answer needs no connection.
ACTING_FUNCTIONS = re.compile(
    r"pg_|lo_|lo(read|write)$|dblink|binary_upgrade_|brin_|gin_clean|(query|table|schema|database|cursor)_to_xml"
    r"|ts_(stat|rewrite)$|set_config$|(next|set|curr|last)val$|setseed$|txid_|inet_|crosstab|connectby$"
    r"|x(path_|slt_)|postgres_fdw_|file_fdw_|current_query$|currtid|bt_index|heap_|get_raw_page|page_header"
    r"|row_security|array_fill$|ts_debug$|getpgusername$"
)
# Their functions are code of the server's own project or as well known, and do nothing but compute.
EXTENSIONS = frozenset(
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
SAMPLING = frozenset({"bernoulli", "system"})
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
