"""The kinds of node that a tree of a reading statement is made of, as sqlglot names them."""

NODES = frozenset(
    """
    Add Alias All And Any Array AtTimeZone Between BitString BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
    BitwiseRightShift BitwiseXor Boolean Bracket CTE Case Cast CharacterSet Collate Column Convert Cube DPipe DataType
    DataTypeParam Describe Distinct Div Dot EQ Escape Except Exists Extract Fetch Filter ForClause FormatJson From GT
    GTE Glob Group GroupingSets Having HexString ILike Identifier If IgnoreNulls In IndexTableHint IntDiv Intersect
    Interval IntervalSpan Introducer Is JSONColumnDef JSONKeyValue JSONPath JSONPathFilter JSONPathKey
    JSONPathRecursive JSONPathRoot JSONPathScript JSONPathSelector JSONPathSlice JSONPathSubscript JSONPathUnion
    JSONPathWildcard JSONSchema JSONTable Join LT LTE Lateral Like Limit LimitOptions Literal Match MatchAgainst Mod
    Mul NEQ National Neg Not Null NullSafeEQ NullSafeNEQ Offset OpenJSON OpenJSONColumnDef Or Order Ordered Paren
    Partition Pivot QueryOption RegexpLike RespectNulls Rollup Select SessionParameter Show SimilarTo Star Sub
    Subquery Table TableAlias TryCast Tuple Union Unnest Values Var Where Window WindowSpec With WithTableHint
    WithinGroup XMLKeyValueOption Xor
    """.split()
)
# Classes that sqlglot counts as functions and that act, or take SQL.
ACTING = frozenset({"NextValueFor", "ReadCSV", "ReadParquet", "Command", "Transaction", "Parameter", "Placeholder"})

# Words that stand before a parenthesis without being a call.
SYNTAX = frozenset(
    """
    against all and any apply array as asc between by case cast columns cross cube default desc describe distinct else
    end escape except exists explain filter for force from full glob group having ignore in index inner intersect
    interval into is join key lateral left like limit match materialized next nocase not offset on only option or
    order outer over partition path pivot plan primary recursive regexp respect right rlike rollup row rows select
    sets some then top union unpivot use using values when where window with within xor
    bigint binary bit blob char character date datetime datetime2 datetimeoffset decimal double float image int
    integer json longtext mediumtext money national nchar ntext numeric nvarchar real signed smallint smallmoney text
    time timestamp tinyint uniqueidentifier unsigned varbinary varchar year nolock
    """.split()
)

# What SQL Server reads as the beginning of another statement, or of a clause, wherever it stands unquoted.
TSQL_RESERVED = frozenset(
    """
    add all alter and any as asc authorization backup begin between break browse bulk by cascade case check checkpoint
    close clustered coalesce collate column commit compute constraint contains containstable continue convert create
    cross current cursor database dbcc deallocate declare default delete deny desc disk distinct distributed double
    drop dump else end errlvl escape except exec execute exists exit external fetch file fillfactor for foreign
    freetext freetexttable from full function goto grant group having holdlock identity identity_insert identitycol if
    in index inner insert intersect into is join key kill left like lineno load merge national nocheck nonclustered
    not null nullif of off offsets on open opendatasource openquery openrowset openxml option or order outer over
    percent pivot plan precision primary print proc procedure public raiserror read readtext reconfigure references
    replication restore restrict return revert revoke right rollback rowcount rowguidcol rule save schema
    securityaudit select semantickeyphrasetable semanticsimilaritydetailstable semanticsimilaritytable session_user
    set setuser shutdown some statistics system_user table tablesample textsize then to top tran transaction trigger
    truncate try_convert tsequal union unique unpivot update updatetext use user values varying view waitfor when
    where while with within writetext go receive send throw
    """.split()
)
