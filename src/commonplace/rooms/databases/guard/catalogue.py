"""What a statement may name of PostgreSQL's own catalogue, types and operators."""

import re

RELATIONS = frozenset(
    """
    pg_aggregate pg_am pg_attrdef pg_attribute pg_cast pg_class pg_collation pg_constraint pg_conversion
    pg_database pg_depend pg_description pg_enum pg_extension pg_available_extensions pg_index pg_indexes
    pg_inherits pg_language pg_matviews pg_namespace pg_opclass pg_operator pg_opfamily pg_partitioned_table
    pg_policies pg_policy pg_proc pg_range pg_rewrite pg_roles pg_rules pg_sequence pg_sequences pg_settings
    pg_shdescription pg_stat_all_indexes pg_stat_all_tables pg_stat_database pg_stat_sys_indexes
    pg_stat_sys_tables pg_stat_user_functions pg_stat_user_indexes pg_stat_user_tables pg_statio_all_indexes
    pg_statio_all_tables pg_statio_user_indexes pg_statio_user_sequences pg_statio_user_tables pg_stats
    pg_stats_ext pg_statistic_ext pg_tables pg_tablespace pg_timezone_abbrevs pg_timezone_names pg_trigger
    pg_ts_config pg_ts_dict pg_ts_parser pg_ts_template pg_type pg_user pg_views
    """.split()
)
# Passwords of other servers stand in these.
SECRET_VIEWS = re.compile(r"_?pg_|.*user_mapping|.*foreign_server|.*foreign_data_wrapper")
SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema"})
# Settings that name files, hosts or credentials of the server.
SECRET_SETTINGS = re.compile(
    r"all$|.*(file|directory|directories|command|path|conninfo|library|libraries|password|ssl_|krb_|listen_|socket)",
    re.IGNORECASE,
)
READABLE_SETTINGS = frozenset({"search_path", "password_encryption"})
TYPES = frozenset(
    """
    bit bool boolean box bpchar bytea char character cidr circle date datemultirange daterange decimal float4 float8
    inet int int2 int2vector int4 int4multirange int4range int8 int8multirange int8range integer interval json jsonb
    jsonpath line lseg macaddr macaddr8 money name numeric nummultirange numrange oid oidvector path pg_lsn
    pg_snapshot point polygon record regclass regcollation regconfig regdictionary regnamespace regoper regoperator
    regproc regprocedure regrole regtype smallint bigint real text tid time timestamp timestamptz timetz tsmultirange
    tsquery tsrange tstzmultirange tstzrange tsvector txid_snapshot unknown uuid varbit varchar xid xid8 xml aclitem
    """.split()
)
OPERATORS = frozenset(
    r"""
    !! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * *< *<= *<> *= *> *>= + - -> ->> -|- / < <-> << <<= <<| <=
    <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-| ?| ?|| @ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>> || ||/ ~ ~* ~<=~ ~<~ ~=
    ~>=~ ~>~ ~~ ~~* != &<| |&> BETWEEN
    """.split()
)
# Built-in or shipped functions that act: files, sleep, locks, sequences, large objects, other connections, SQL in a
# string, signals, replication. The catalogue would refuse most of them too; here the answer needs no connection.
ACTING_FUNCTIONS = re.compile(
    r"pg_|lo_|lo(read|write)$|dblink|binary_upgrade_|brin_|gin_clean|(query|table|schema|database|cursor)_to_xml"
    r"|ts_(stat|rewrite)$|set_config$|(next|set|curr|last)val$|setseed$|txid_|inet_|crosstab|connectby$"
    r"|x(path_|slt_)|postgres_fdw_|file_fdw_|current_query$|currtid|bt_index|heap_|get_raw_page|page_header"
    r"|row_security|array_fill$|ts_debug$|getpgusername$"
)
EXTENSIONS = frozenset(
    """
    btree_gin btree_gist citext cube earthdistance fuzzystrmatch hstore intarray isn ltree pg_trgm pgcrypto postgis
    seg unaccent uuid-ossp vector
    """.split()
)
SAMPLING = frozenset({"bernoulli", "system"})
EXPLAIN_OPTIONS = frozenset(
    "analyze verbose costs settings generic_plan buffers serialize wal timing summary memory format".split()
)
EXPRESSIONS = frozenset(
    """
    A_ArrayExpr A_Const A_Expr A_Indices A_Indirection A_Star Alias BitString Boolean BooleanTest BoolExpr
    CTECycleClause CTESearchClause CaseExpr CaseWhen CoalesceExpr CollateClause ColumnDef ColumnRef CommonTableExpr
    Float FuncCall GroupingFunc GroupingSet Integer JoinExpr JsonAggConstructor JsonArgument JsonArrayAgg
    JsonArrayConstructor JsonArrayQueryConstructor JsonBehavior JsonFormat JsonFuncExpr JsonIsPredicate
    JsonKeyValue JsonObjectAgg JsonObjectConstructor JsonOutput JsonParseExpr JsonReturning JsonScalarExpr
    JsonSerializeExpr JsonTable JsonTableColumn JsonTablePathSpec JsonValueExpr MinMaxExpr NamedArgExpr NullTest
    RangeFunction RangeSubselect RangeTableFunc RangeTableFuncCol RangeTableSample RangeVar ResTarget RowExpr
    SQLValueFunction SelectStmt SortBy String SubLink TypeCast TypeName WindowDef WithClause XmlExpr XmlSerialize
    """.split()
)
