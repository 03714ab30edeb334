-- kind: data
alter table checklist add column id text not null default '';

update checklist set id = 'checklist_' || substr(md5(random()::text), 1, 12);

create unique index checklist_id on checklist (project, id);

alter table guideline add column id text not null default '';

update guideline set id = 'guideline_' || substr(md5(random()::text), 1, 12);

create unique index guideline_id on guideline (project, id);
