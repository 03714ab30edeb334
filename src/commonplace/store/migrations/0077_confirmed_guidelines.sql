-- kind: additive
-- The person who set or confirmed a guideline; empty while it is an agent's proposal.
alter table guideline add column confirmed_by text not null default '';
