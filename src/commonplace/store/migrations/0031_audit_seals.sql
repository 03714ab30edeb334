-- kind: additive
create table audit_seal (
  project text not null,
  n {int} not null,
  kind text not null,
  at {int} not null,
  first_at {int} not null,
  last_at {int} not null,
  entries text not null,
  previous text not null,
  hash text not null,
  primary key (project, n)
) {tail};

create index audit_seal_last on audit_seal (project, last_at);
