-- kind: additive
-- What was said of a function before somebody described it anew.
create table function_text (
  project text not null,
  id text not null,
  described_at {int} not null,
  described_by text not null,
  purpose text not null,
  gotchas text not null,
  prefer_over text not null,
  requires text not null,
  primary key (project, id, described_at)
) {tail};
