-- kind: additive
-- What agents and their programs wait for a person to answer. A request is answered once, or closed when the program went on.
create table person_request (
    project text not null,
    id text not null,
    session text not null,
    subagent text not null default '',
    agent text not null,
    source text not null check (source in ('hook', 'agent')),
    kind text not null check (kind in ('permission', 'question', 'plan', 'idle')),
    tool text not null default '',
    machine text not null default '',
    directory text not null default '',
    title text not null default '',
    body text not null default '',
    questions text not null default '[]',
    shown text not null,
    state text not null check (state in ('open', 'answered', 'closed')),
    decision text not null default '',
    answers text not null default '[]',
    note text not null default '',
    answered_by text not null default '',
    created_at {int} not null,
    polled_at {int} not null default 0,
    changed_at {int} not null,
    delivered_at {int} not null default 0,
    primary key (project, id)
) {tail};

create index person_request_open on person_request (project, created_at) where state = 'open';
create index person_request_session on person_request (project, session, state);
create index person_request_age on person_request (project, changed_at);

-- Keys of people, who may answer requests whatever their role.
alter table api_key add column person {int} not null default 0
