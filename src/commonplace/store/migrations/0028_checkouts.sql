-- kind: additive
-- Where the sessions of agents work: one row for each session, written by its hooks.
create table checkout (
  project text not null,
  session text not null,
  machine text not null,
  root text {order} not null,
  repository text {order} not null,
  branch text not null,
  head text not null,
  dirty text not null,
  shelved text not null,
  at {int} not null,
  moving_at {int} not null,
  primary key (project, session)
) {tail};

create index checkout_repository on checkout (project, machine, repository);
