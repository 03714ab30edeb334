-- kind: additive
-- Sessions of the web page and the one-time links that start them. Only digests of their secrets are stored.
create table browser_session (
    project text not null,
    hash text not null,
    kind text not null check (kind in ('link', 'session')),
    key_id text not null,
    agent text not null,
    created_at {int} not null,
    expires_at {int} not null,
    primary key (project, hash)
) {tail};

create index browser_session_key on browser_session (project, key_id);
create index browser_session_expiry on browser_session (project, expires_at)
