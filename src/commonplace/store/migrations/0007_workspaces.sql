-- kind: additive
alter table api_key add column machines text not null default '[]';

alter table api_key add column workspaces text not null default '[]';

-- reference
create table workspace_place (
  id text primary key,
  project text not null
) {tail};

create table workspace (
  project text not null,
  id text not null,
  machine text not null,
  tool text not null,
  summary text not null,
  knowledge_count {int} not null,
  session_count {int} not null,
  created_at {int} not null,
  last_activity {int} not null,
  primary key (project, id)
) {tail};

create unique index workspace_triple on workspace (project, machine, tool);

create index workspace_recent on workspace (project, last_activity);

create table workspace_token (
  project text not null,
  workspace text not null,
  hash text not null,
  given_at {int} not null,
  given_to text not null,
  revoked_at {int},
  primary key (project, workspace)
) {tail};

create table workspace_binding (
  project text not null,
  agent text not null,
  workspace text not null,
  session text not null,
  bound_at {int} not null,
  primary key (project, agent, workspace)
) {tail};

create index workspace_binding_recent on workspace_binding (project, agent, bound_at);

create table workspace_file (
  project text not null,
  id text not null,
  workspace text not null,
  path text {order} not null,
  title text not null,
  size {int} not null,
  sha256 text not null,
  given_sha256 text not null,
  version {int} not null,
  versions {int} not null,
  deleted {int} not null,
  created_at {int} not null,
  modified_at {int} not null,
  primary key (project, id)
) {tail};

create unique index workspace_file_path on workspace_file (project, workspace, path);

create index workspace_file_recent on workspace_file (project, modified_at);

create index workspace_file_latest on workspace_file (project, workspace, modified_at);

create table workspace_version (
  project text not null,
  file text not null,
  version {int} not null,
  at {int} not null,
  author text not null,
  what text not null,
  size {int} not null,
  sha256 text not null,
  content text not null,
  primary key (project, file, version)
);
