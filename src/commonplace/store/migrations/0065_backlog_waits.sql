-- kind: data
-- How many open items each item depends on, so that what is ready, one's own or lapsed is found by an index.
alter table backlog add column waits {int} not null default 0;

update backlog set waits = (select count(*) from backlog_need join backlog as needed on needed.project = backlog_need.project and needed.id = backlog_need.needs where backlog_need.project = backlog.project and backlog_need.item = backlog.id and needed.closed = 0) where closed = 0;

create index backlog_ready on backlog (project, rank, created_at, n) where closed = 0 and status = 'open' and assigned_to = '' and waits = 0;

create index backlog_filed on backlog (project, created_by, updated_at) where closed = 0;

create index backlog_own on backlog (project, assigned_to, rank, created_at, n) where closed = 0;

create index backlog_had on backlog (project, closed, was_claimed_by) where was_claimed_by <> '';

create index backlog_lapsing on backlog (project, closed, claimed_until) where claim_session <> '';
