-- kind: additive
-- What a guideline enforces (JSON, empty: nothing), who set that, and how often it has fired.
alter table guideline add column enforce text not null default '';
alter table guideline add column enforced_by text not null default '';
alter table guideline add column hits {int} not null default 0;
alter table guideline add column hit_at {int} not null default 0;
-- The version of the rules of a project ('*': the global ones): hooks that know another one are sent the rules.
create table rule_set (
  project text not null,
  version text not null,
  primary key (project)
) {tail};
