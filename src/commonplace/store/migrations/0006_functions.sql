-- kind: additive
create table function (
  project text not null,
  id text not null,
  file text not null,
  name text not null,
  short text not null,
  line {int} not null,
  end_line {int} not null,
  kind text not null,
  language text not null,
  state text not null,
  signature text not null,
  body text not null,
  digest text not null,
  scanned text not null,
  complexity {int} not null,
  code text not null,
  purpose text not null,
  gotchas text not null,
  prefer_over text not null,
  requires text not null,
  described_by text not null,
  described_at {int},
  described_signature text not null,
  described_body text not null,
  moved_from text not null,
  analysis text not null,
  enriched_by text not null,
  enriched_at {int},
  enriched_signature text not null,
  enriched_body text not null,
  queued {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project, id)
) {tail};

create unique index function_place on function (project, file, name);

create index function_moved on function (project, short, body);

create index function_queue on function (project, queued, complexity);

create index function_gone on function (state, updated_at);
