-- kind: additive
-- Who alone may find an entry (a JSON list); empty means everyone who may read the project.
alter table entry add column readers text not null default '';

-- The rows that must still be indexed: those of a project and kind with an id after last_id.
create table index_fill (
  project text not null,
  kind text not null,
  last_id text not null,
  primary key (project, kind)
) {tail};

insert into index_fill (project, kind, last_id) select distinct project, 'spec', '' from spec;

insert into index_fill (project, kind, last_id) select distinct project, 'backlog', '' from backlog;

insert into index_fill (project, kind, last_id) select distinct project, 'message', '' from message;

insert into index_fill (project, kind, last_id) select distinct project, 'checklist', '' from checklist;

insert into index_fill (project, kind, last_id) select distinct project, 'guideline', '' from guideline;

insert into index_fill (project, kind, last_id) select distinct project, 'work', '' from work;
