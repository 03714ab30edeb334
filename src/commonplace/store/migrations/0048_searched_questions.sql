-- kind: additive
-- Questions of agents to people, with their answers, are part of the search index.
insert into index_fill (project, kind, last_id) select distinct project, 'request', '' from person_request;
