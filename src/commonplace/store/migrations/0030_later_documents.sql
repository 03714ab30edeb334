-- kind: additive
-- Which document a later one contradicts, so that a reader of the earlier one is told.
create table document_link (
  project text not null,
  document text not null,
  later text not null,
  at {int} not null,
  primary key (project, document, later)
) {tail};
