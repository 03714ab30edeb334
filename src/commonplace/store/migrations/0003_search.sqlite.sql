-- kind: additive
create virtual table words using fts5 (tokens, content = '', contentless_delete = 1, tokenize = 'ascii');

create table term (
  project text not null,
  term text not null,
  n {int} not null,
  primary key (project, term)
) {tail};

create trigger entry_removed after delete on entry begin delete from words where rowid = old.n; end;

create table embedding (
  project text not null,
  model text not null,
  at {int} not null,
  n {int} not null,
  part {int} not null,
  value {blob} not null,
  primary key (project, model, at)
) {tail};

create index embedding_entry on embedding (project, n);
