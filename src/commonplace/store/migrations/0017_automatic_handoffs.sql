-- kind: additive
-- 1: the server wrote it, because the session ended without a handoff.
alter table handoff add column automatic {int} not null default 0;
