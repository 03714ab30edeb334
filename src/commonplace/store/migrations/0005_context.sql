-- kind: additive
-- reference
create table context_session_place (
  id text primary key,
  project text not null
) {tail};

create table context_session (
  project text not null,
  id text not null,
  purpose text not null,
  metadata text not null,
  status text not null,
  summary text not null,
  created_by text not null,
  created_at {int} not null,
  updated_at {int} not null,
  closed_by text not null,
  closed_at {int},
  last_sequence {int} not null,
  primary key (project, id)
) {tail};

create index context_session_recent on context_session (project, status, updated_at);

create table context_message (
  project text not null,
  session text not null,
  sequence {int} not null,
  id text not null,
  audience text not null,
  sender text not null,
  owner text not null,
  key_id text not null,
  message_type text not null,
  mark text not null,
  content text not null,
  metadata text not null,
  size {int} not null,
  parent text not null,
  replies {int} not null,
  idempotency_key text,
  at {int} not null,
  primary key (project, session, sequence)
);

create unique index context_message_id on context_message (project, session, id);

create unique index context_message_once on context_message (project, session, owner, idempotency_key)
  where idempotency_key is not null;

create index context_message_parent on context_message (project, session, parent, sequence) where parent <> '';

create index context_message_mark on context_message (project, session, mark, sequence) where mark <> '';

create index context_message_replies on context_message (project, session, replies, sequence) where replies > 0;

create table context_tally (
  project text not null,
  session text not null,
  audience text not null,
  sender text not null,
  n {int} not null,
  primary key (project, session, audience, sender)
) {tail};

create table context_memory (
  project text not null,
  agent text not null,
  session text not null,
  key text not null,
  value text not null,
  metadata text not null,
  size {int} not null,
  version {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  expires_at {int},
  primary key (project, agent, session, key)
);

create index context_memory_expiry on context_memory (project, expires_at, agent) where expires_at is not null;

create table context_memory_usage (
  project text not null,
  agent text not null,
  entries {int} not null,
  bytes {int} not null,
  primary key (project, agent)
) {tail};
