-- kind: additive
-- Stored transcripts are masked line by line, in place: which rules have seen all lines, and how many lines they changed.
alter table archive add column masking_version {int} not null default 0;

alter table archive add column masked_lines {int} not null default 0;

create index archive_masking on archive (masking_version);
