-- kind: additive
-- The cited lines themselves, where somebody chose to send them: as they were, and as they are where they have changed.
alter table citation add column text_before text not null default '';

alter table citation add column text_now text not null default '';
