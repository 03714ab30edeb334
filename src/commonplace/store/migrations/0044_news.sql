-- kind: additive
-- When a guideline was first set; 0 for those of before.
alter table guideline add column created_at {int} not null default 0;

-- Up to which message each session has read or written a blackboard: it is told of those after it.
create table context_reader (
  project text not null,
  blackboard text not null,
  session_project text not null,
  session text not null,
  sequence {int} not null,
  at {int} not null,
  primary key (project, blackboard, session_project, session)
) {tail};

create index context_reader_age on context_reader (project, at);

-- A message can be opened by its id alone.
create index context_message_lookup on context_message (project, id);
