-- kind: additive
create extension if not exists vector;

alter table entry add column words tsvector not null default '';

create index entry_words on entry using gin (words) with (fastupdate = off);

create table embedding (
  project text not null,
  model text not null,
  n bigint not null,
  part bigint not null,
  dimensions bigint not null,
  value halfvec not null,
  primary key (project, model, n, part)
);

create index embedding_384 on embedding using hnsw ((value::halfvec(384)) halfvec_ip_ops) where (dimensions = 384);

create table term (
  project text not null,
  term text not null,
  n bigint not null,
  primary key (project, term)
) with (fillfactor = 70);
