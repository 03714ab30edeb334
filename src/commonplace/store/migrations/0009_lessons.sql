-- kind: additive
create table session_study (
  project text not null,
  workspace text not null,
  session text {order} not null,
  parser {int} not null,
  behind {int} not null,
  lines {int} not null,
  state {blob} not null,
  primary key (project, workspace, session)
);

create index session_study_parser on session_study (parser);

create index session_study_behind on session_study (behind);

create table session_passage (
  project text not null,
  id text {order} not null,
  body {blob} not null,
  primary key (project, id)
);

create table session_error (
  project text not null,
  id text {order} not null,
  workspace text not null,
  fingerprint text not null,
  line {int} not null,
  at {int} not null,
  times {int} not null,
  text text not null,
  command text not null,
  fixed_line {int} not null,
  followed text not null,
  primary key (project, id)
) {tail};

create index session_error_met on session_error (project, fingerprint, at);
