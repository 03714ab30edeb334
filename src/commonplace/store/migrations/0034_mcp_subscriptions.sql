-- kind: additive
-- What the sessions of older MCP clients are subscribed to, so that any replica can notify them. All under the shared project.
create table mcp_subscription (
  project text not null,
  session text not null,
  uri text not null,
  at {int} not null,
  primary key (project, session, uri)
) {tail};

create index mcp_subscription_age on mcp_subscription (project, at);
