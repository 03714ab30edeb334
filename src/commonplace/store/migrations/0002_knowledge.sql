-- kind: additive
create table document (
  project text not null,
  id text not null,
  type text not null,
  title text not null,
  content text not null,
  status text not null,
  author text not null,
  tags text not null,
  files text not null,
  derived_from text not null,
  flags text not null,
  interface_name text not null,
  interface_version text not null,
  interface_owner text not null,
  interface_schema text not null,
  superseded_by text not null,
  digest text not null,
  version {int} not null,
  opened {int} not null,
  recalled {int} not null,
  created_at {int} not null,
  changed_at {int} not null,
  updated_at {int} not null,
  expires_at {int},
  primary key (project, id)
) {tail};

create index document_digest on document (project, digest);

create index document_recent on document (project, created_at);

create index document_type on document (project, type, created_at);

create index document_interface on document (project, interface_name, changed_at);

create index document_expiry on document (status, expires_at);

create table document_version (
  project text not null,
  document text not null,
  version {int} not null,
  at {int} not null,
  author text not null,
  what text not null,
  status text not null,
  title text not null,
  content text not null,
  reason text not null,
  primary key (project, document, version)
) {tail};

create table document_tag (
  project text not null,
  tag text not null,
  document text not null,
  primary key (project, tag, document)
) {tail};

create table archived (
  project text not null,
  tag text not null,
  document text not null,
  former text not null,
  at {int} not null,
  primary key (project, tag, document)
) {tail};

create table citation (
  project text not null,
  document text not null,
  place text not null,
  path text not null,
  line {int} not null,
  symbol text not null,
  committed text not null,
  fingerprint text not null,
  state text not null,
  checked_at {int},
  primary key (project, document, place)
) {tail};

create index citation_path on citation (project, path);

create table served (
  project text not null,
  session text not null,
  document text not null,
  at {int} not null,
  primary key (project, session, document)
) {tail};

create table entry (
  project text not null,
  n {int} not null,
  kind text not null,
  id text not null,
  type text not null,
  status text not null,
  title text not null,
  tags text not null,
  counts text not null,
  length {int} not null,
  changed_at {int} not null,
  expires_at {int} not null,
  primary key (project, n)
) {tail};

create unique index entry_id on entry (project, kind, id);

create table embedding_queue (
  project text not null,
  n {int} not null,
  due_at {int} not null,
  tries {int} not null,
  primary key (project, n)
) {tail};

create index embedding_queue_due on embedding_queue (due_at);
