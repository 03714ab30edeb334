-- kind: additive
-- Until when (in the time of leases) a path that came free is kept for a session that waited for it, and what for.
alter table lock_waiter add column reserved_until {int} not null default 0;
alter table lock_waiter add column reason text not null default '';
