-- kind: additive
-- The session that a handoff is of, and the session that a transcript is of: digests, as in session.id.
alter table handoff add column session text not null default '';

create index handoff_session on handoff (project, session);

alter table session_study add column agent_session text not null default '';

-- What the transcript of a session adds to a handoff that the server writes.
alter table session add column transcript_notes text not null default '';
