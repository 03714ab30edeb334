-- kind: additive
create table message (
  project text not null,
  id text not null,
  n {int} not null,
  sender text not null,
  sender_project text not null,
  addressed_to text not null,
  subject text not null,
  body text not null,
  priority text not null,
  category text not null,
  thread text not null,
  reply_to text not null,
  chain_depth {int} not null,
  require_human {int} not null,
  recipients {int} not null,
  fingerprint text not null,
  idempotency_key text,
  owner text,
  created_at {int} not null,
  primary key (project, id)
) {tail};

create index message_same on message (project, fingerprint, created_at);

create unique index message_once on message (project, sender_project, sender, idempotency_key);

create index message_old on message (project, created_at);

create table delivery (
  project text not null,
  message text not null,
  agent text not null,
  n {int} not null,
  rank {int} not null,
  thread text not null,
  category text not null,
  state {int} not null,
  note text not null,
  changed_by text not null,
  changed_at {int} not null,
  primary key (project, message, agent)
) {tail};

create index delivery_inbox on delivery (project, agent, state, rank, n);

create index delivery_all on delivery (project, agent, rank, n);

create index delivery_thread on delivery (project, agent, thread, rank, n);

create table backlog (
  project text not null,
  id text not null,
  n {int} not null,
  title text not null,
  description text not null,
  priority text not null,
  rank {int} not null,
  status text not null,
  closed {int} not null,
  assigned_to text not null,
  tags text not null,
  milestone text not null,
  deferred_reason text not null,
  resolution text not null,
  completed_by text not null,
  completed_at {int},
  created_by text not null,
  created_at {int} not null,
  updated_at {int} not null,
  version {int} not null,
  primary key (project, id)
) {tail};

create index backlog_order on backlog (project, closed, rank, created_at, n);

create index backlog_assigned on backlog (project, assigned_to, closed);

create table backlog_need (
  project text not null,
  item text not null,
  needs text not null,
  primary key (project, item, needs)
) {tail};

create index backlog_needed on backlog_need (project, needs);

create table backlog_change (
  project text not null,
  item text not null,
  version {int} not null,
  field text not null,
  before text not null,
  after text not null,
  agent text not null,
  at {int} not null,
  primary key (project, item, version, field)
) {tail};

create table spec (
  project text not null,
  name text not null,
  id text not null,
  owner text not null,
  spec_type text not null,
  version text not null,
  n {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project, name)
) {tail};

create unique index spec_id on spec (project, id);

create table spec_version (
  project text not null,
  name text not null,
  n {int} not null,
  version text not null,
  owner text not null,
  author text not null,
  spec_type text not null,
  content text not null,
  json_schema text not null,
  tags text not null,
  created_at {int} not null,
  primary key (project, name, n)
) {tail};

create unique index spec_version_text on spec_version (project, name, version);

create table checklist (
  project text not null,
  name text not null,
  created_by text not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project, name)
) {tail};

create table checklist_item (
  project text not null,
  checklist text not null,
  place {int} not null,
  text text not null,
  done {int} not null,
  notes text not null,
  added_by text not null,
  added_at {int} not null,
  checked_by text not null,
  checked_at {int},
  primary key (project, checklist, place)
) {tail};
