-- kind: additive
-- The session that started this one as its sub-agent: when it ends, its sub-agents end too.
alter table session add column parent text not null default '';

create index session_parent on session (project, parent) where parent <> '';
