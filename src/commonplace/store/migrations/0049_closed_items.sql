-- kind: additive
-- A list of open items says how many are closed, without reading them.
create index backlog_closed on backlog (project, assigned_to, status) where closed = 1;
