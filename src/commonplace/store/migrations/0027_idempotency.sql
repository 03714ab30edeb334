-- kind: additive
create table idempotency (
  project text not null,
  id text not null,
  at {int} not null,
  fingerprint text not null,
  answer {blob} not null,
  primary key (project, id)
) {tail};

create index idempotency_age on idempotency (project, at);
