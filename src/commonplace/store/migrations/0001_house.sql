-- kind: additive
-- reference
create table project (
  name text primary key,
  display_name text not null,
  registered {int} not null,
  ignore_case {int} not null,
  created_at {int} not null
) {tail};

-- reference
create table api_key (
  id text primary key,
  hash text not null unique,
  name text not null,
  role text not null,
  projects text not null,
  agent text,
  agent_type text,
  created_at {int} not null,
  created_by text not null,
  expires_at {int},
  revoked_at {int},
  last_used_at {int}
) {tail};

-- reference
create table setting (
  name text primary key,
  value text not null
) {tail};

create table counter (
  project text not null,
  name text not null,
  n {int} not null,
  primary key (project, name)
) {tail};

create table event (
  project text not null,
  n {int} not null,
  at {int} not null,
  kind text not null,
  uri text not null,
  actor text not null,
  audience text not null,
  body text not null,
  primary key (project, n)
) {tail};

create index event_age on event (project, at);

create table audit (
  project text not null,
  at {int} not null,
  id text not null,
  operation text not null,
  outcome text not null,
  agent text not null,
  key_id text not null,
  role text not null,
  detail text not null,
  primary key (project, at, id)
) {tail};

create index audit_recent on audit (at, id);

create table session (
  project text not null,
  id text not null,
  agent text not null,
  agent_type text not null,
  key_id text not null,
  task text not null,
  role_description text not null,
  working_directory text not null,
  spawned_by text not null,
  tmux_target text not null,
  started_at {int} not null,
  active_at {int} not null,
  ended_at {int},
  primary key (project, id)
) {tail};

create index session_active on session (project, ended_at, active_at);

create index session_agent on session (project, agent, started_at);

create table notice (
  project text not null,
  session text not null,
  at {int} not null,
  id text not null,
  text text not null,
  primary key (project, session, at, id)
) {tail};

create table agent (
  project text not null,
  name text not null,
  tier text not null,
  role_description text not null,
  path_patterns text not null,
  status text not null,
  current_task text not null,
  last_task text not null,
  session_count {int} not null,
  heartbeat_at {int},
  last_seen_at {int},
  created_at {int} not null,
  primary key (project, name)
) {tail};

create table lease (
  project text not null,
  path text not null,
  session text not null,
  prefix text {order} not null,
  mode text not null,
  agent text not null,
  token {int} not null,
  reason text not null,
  ttl {int} not null,
  granted_at {int} not null,
  expires_at {int} not null,
  primary key (project, path, session)
) {tail};

create index lease_session on lease (project, session);

create index lease_prefix on lease (project, prefix);

create index lease_token on lease (project, token);

create table work (
  project text not null,
  id text not null,
  session text not null,
  agent text not null,
  title text not null,
  status text not null,
  files text not null,
  notes text not null,
  blocked_by text not null,
  blocked_reason text not null,
  waiting_for text not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project, id)
) {tail};

create unique index work_title on work (project, session, title);

create index work_recent on work (project, updated_at);

create index work_waiting on work (project, waiting_for);

create index work_status on work (project, status, updated_at);

create table touched (
  project text not null,
  path text not null,
  session text not null,
  prefix text {order} not null,
  agent text not null,
  at {int} not null,
  primary key (project, path, session)
) {tail};

create index touched_prefix on touched (project, prefix);

create index touched_recent on touched (project, at);

create table signal (
  project text not null,
  at {int} not null,
  id text not null,
  name text not null,
  agent text not null,
  details text not null,
  primary key (project, at, id)
) {tail};

create index signal_name on signal (project, name, at);

create table guideline (
  project text not null,
  name text not null,
  rule text not null,
  priority {int} not null,
  updated_at {int} not null,
  updated_by text not null,
  primary key (project, name)
) {tail};
