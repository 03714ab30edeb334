-- kind: additive
-- Who asked for a path in vain, so that it can be told when the path is free.
create table lock_waiter (
  project text not null,
  session text not null,
  path text not null,
  agent text not null,
  mode text not null,
  at {int} not null,
  primary key (project, session, path)
) {tail};

create index lock_waiter_age on lock_waiter (project, at);
