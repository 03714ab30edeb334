-- kind: additive
-- What one session of an agent program did; made from its hooks and from its transcript, which may both exist.
create table journal (
  project text not null,
  id text {order} not null,
  source text not null,
  tool text not null,
  agent text not null,
  session text not null,
  directory text not null,
  branch text not null,
  task text not null,
  state text not null,
  earlier text not null,
  started_at {int} not null,
  updated_at {int} not null,
  version {int} not null,
  body {blob} not null,
  primary key (project, id, source)
);

create index journal_updated on journal (project, updated_at);

create index journal_session on journal (project, session);

-- What a session teaches others: invocations that worked (how), and what overcame an error (fix).
create table journal_fact (
  project text not null,
  kind text not null,
  id text {order} not null,
  journal text not null,
  title text not null,
  folder text not null,
  agent text not null,
  runs {int} not null,
  failures {int} not null,
  at {int} not null,
  body text not null,
  primary key (project, kind, id, journal)
);

create index journal_fact_journal on journal_fact (project, journal);
