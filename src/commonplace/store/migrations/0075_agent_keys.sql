-- kind: additive
-- The key whose agent uses a name: what is stored under the name belongs to it.
alter table agent add column key_id text not null default '';
