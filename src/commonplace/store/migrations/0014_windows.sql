-- kind: additive
-- Always in the project 'shared': the project of a request is known only when its session is.
create table agent_window (
  project text not null,
  id text not null,
  kind text not null,
  session_project text not null,
  session text not null,
  at {int} not null,
  primary key (project, id)
) {tail};

create index agent_window_session on agent_window (project, session, kind);

create index agent_window_age on agent_window (project, at);

-- Further secrets of a session, each kept as a digest: the first one cannot be told again.
create table session_key (
  project text not null,
  id text not null,
  session text not null,
  at {int} not null,
  primary key (project, id)
) {tail};

create index session_key_age on session_key (project, at);

create table seat_name (
  project text not null,
  seat text not null,
  name text not null,
  at {int} not null,
  primary key (project, seat, name)
) {tail};

create index seat_name_owner on seat_name (project, name);

create table handoff (
  project text not null,
  id text not null,
  agent text not null,
  directory text not null,
  branch text not null,
  task text not null,
  status text not null,
  closed_by text not null,
  created_at {int} not null,
  closed_at {int},
  primary key (project, id)
) {tail};

create index handoff_open on handoff (project, status, created_at);

alter table session add column seat text not null default '';

alter table session add column branch text not null default '';
