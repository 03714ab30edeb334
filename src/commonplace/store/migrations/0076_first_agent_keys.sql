-- kind: data
-- Names in use belong to the key that used them last.
update agent set key_id = coalesce((select session.key_id from session where session.project = agent.project
  and session.agent = agent.name order by session.started_at desc, session.id limit 1), '');
