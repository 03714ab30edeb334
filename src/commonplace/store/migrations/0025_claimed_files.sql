-- kind: additive
-- The files that a claimed item names, so that whoever locks one of them sees the claim without reading the items.
alter table backlog_claim add column files text not null default '[]';
