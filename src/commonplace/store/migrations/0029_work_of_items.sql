-- kind: additive
-- The backlog item whose claim started this work, so that a report under another title is the same work.
alter table work add column item text not null default '';
