-- A stand-in for Citus on plain PostgreSQL. It moves no rows and has no workers: it keeps the list of distributed
-- tables, counts calls, and refuses what the documentation of Citus says that Citus refuses.
set local allow_system_table_mods = on;

create table pg_catalog.pg_dist_partition (
  logicalrelid regclass primary key,
  partmethod "char" not null,
  column_name text not null
);

create table pg_catalog.citus_double_call (function text not null, relation text not null);

create function pg_catalog.citus_get_active_worker_nodes(out node_name text, out node_port bigint) returns setof record
language sql as $$ select 'worker'::text, 5432::bigint $$;

-- Distributing works over several connections at once, unless the transaction asked for one per node.
create function pg_catalog.citus_double_work_in_parallel() returns void language plpgsql as $$
begin
  if coalesce(current_setting('citus.multi_shard_modify_mode', true), '') <> 'sequential' then
    perform set_config('citus_double.parallel', 'on', true);
  end if;
end $$;

create function pg_catalog.citus_double_check_keys(relation regclass, key text) returns void language plpgsql as $$
declare wrong text;
begin
  select i.indexrelid::regclass::text into wrong from pg_index i
  where i.indrelid = relation and i.indisunique and not exists (
    select 1 from pg_attribute a where a.attrelid = relation and a.attname = key
      and a.attnum = any (i.indkey::int2[]));
  if wrong is not null then
    raise exception 'cannot create constraint on "%"', relation
      using detail = 'Distributed relations cannot have UNIQUE, EXCLUDE, or PRIMARY KEY constraints that do not'
        ' include the partition column (with an equality operator if EXCLUDE): ' || wrong, errcode = '42P16';
  end if;
  select c.conname into wrong from pg_constraint c
  where c.contype = 'f' and c.conrelid = relation and not exists (
    select 1 from pg_dist_partition p where p.logicalrelid = c.confrelid and (p.partmethod = 'n' or exists (
      select 1 from pg_attribute a where a.attrelid = relation and a.attname = key and a.attnum = any (c.conkey))));
  if wrong is not null then
    raise exception 'cannot create foreign key constraint %', wrong
      using detail = 'Foreign keys must reference a reference table, or a co-located table by the partition column.',
        errcode = '0A000';
  end if;
  select c.conname into wrong from pg_constraint c
  where c.contype = 'f' and c.confrelid = relation and c.conrelid <> relation
    and not exists (select 1 from pg_dist_partition p where p.logicalrelid = c.conrelid);
  if wrong is not null then
    raise exception 'relation % is referenced by a local table through %', relation, wrong using errcode = '0A000';
  end if;
end $$;

create function pg_catalog.citus_double_refuse_key_change() returns trigger language plpgsql as $$
begin
  raise exception 'modifying the partition value of rows is not allowed' using errcode = '0A000';
end $$;

create function pg_catalog.citus_double_require_plain(relation regclass) returns void language plpgsql as $$
begin
  if exists (select 1 from pg_dist_partition where logicalrelid = relation) then
    raise exception 'table "%" is already distributed', relation using errcode = '42P16';
  end if;
  if exists (select 1 from pg_trigger where tgrelid = relation and not tgisinternal) then
    raise exception 'cannot distribute relation "%" because it has triggers', relation using errcode = '0A000';
  end if;
end $$;

create function pg_catalog.create_distributed_table(
  table_name regclass, distribution_column text, distribution_type text default 'hash',
  colocate_with text default 'default', shard_count int default null
) returns void language plpgsql as $$
begin
  perform citus_double_require_plain(table_name);
  if not exists (select 1 from pg_attribute where attrelid = table_name and attname = distribution_column) then
    raise exception 'column "%" of relation "%" does not exist', distribution_column, table_name
      using errcode = '42703';
  end if;
  perform citus_double_check_keys(table_name, distribution_column);
  perform citus_double_work_in_parallel();
  insert into pg_dist_partition values (table_name, 'h', distribution_column);
  insert into citus_double_call values ('create_distributed_table', table_name::text);
  execute format('create trigger citus_double_key before update of %I on %s for each statement'
    ' execute function citus_double_refuse_key_change()', distribution_column, table_name);
end $$;

create function pg_catalog.create_reference_table(table_name regclass) returns void language plpgsql as $$
begin
  perform citus_double_require_plain(table_name);
  perform citus_double_work_in_parallel();
  insert into pg_dist_partition values (table_name, 'n', '');
  insert into citus_double_call values ('create_reference_table', table_name::text);
end $$;

create function pg_catalog.truncate_local_data_after_distributing_table(relation regclass) returns void
language plpgsql as $$
begin
  if not exists (select 1 from pg_dist_partition where logicalrelid = relation) then
    raise exception 'supplied parameter is not a distributed relation' using errcode = '22023';
  end if;
  insert into citus_double_call values ('truncate_local_data_after_distributing_table', relation::text);
end $$;

create function pg_catalog.citus_double_before_ddl() returns event_trigger language plpgsql as $$
begin
  if current_setting('citus_double.parallel', true) = 'on' then
    raise exception 'cannot run extension command because there was a parallel operation on a distributed table in'
      ' the transaction'
      using hint = 'Try re-running the transaction with "SET LOCAL citus.multi_shard_modify_mode TO ''sequential'';"',
        errcode = '0A000';
  end if;
end $$;

create function pg_catalog.citus_double_after_ddl() returns event_trigger language plpgsql as $$
begin
  perform citus_double_check_keys(logicalrelid, column_name) from pg_dist_partition where partmethod = 'h';
end $$;

create function pg_catalog.citus_double_after_drop() returns event_trigger language plpgsql as $$
begin
  delete from pg_dist_partition where logicalrelid in (select objid from pg_event_trigger_dropped_objects());
end $$;

create event trigger citus_double_extension on ddl_command_start when tag in ('CREATE EXTENSION')
  execute function pg_catalog.citus_double_before_ddl();
create event trigger citus_double_keys on ddl_command_end when tag in ('CREATE INDEX', 'ALTER TABLE')
  execute function pg_catalog.citus_double_after_ddl();
create event trigger citus_double_drop on sql_drop execute function pg_catalog.citus_double_after_drop();
