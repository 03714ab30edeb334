-- kind: additive
-- Changes of the counts in `term` that are not added yet: `step` for each of the terms, which are separated by spaces.
create table term_change (
  project text not null,
  id text not null,
  step {int} not null,
  terms text not null,
  primary key (project, id)
) {tail};
