-- kind: additive
-- When a session no longer waits for a lock: it depends on the lease that it met.
alter table lock_waiter add column until {int} not null default 0;
