-- kind: additive
-- Which version of a spec a session last read, so that it is told of the next one.
create table spec_reader (
  project text not null,
  name text not null,
  session_project text not null,
  session text not null,
  agent text not null,
  n {int} not null,
  version text not null,
  at {int} not null,
  primary key (project, name, session_project, session)
) {tail};

create index spec_reader_agent on spec_reader (project, session_project, agent);

create index spec_reader_age on spec_reader (project, at);
