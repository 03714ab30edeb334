-- kind: additive
-- Until when the call of a session that waits for a lock is open: such calls are granted in order.
alter table lock_waiter add column calls_until {int} not null default 0;
