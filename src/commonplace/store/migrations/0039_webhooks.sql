-- Where people want to hear of what waits for them, and what is queued for it. Those for every project are under the shared one.
create table webhook (
    project text not null,
    id text not null,
    kind text not null check (kind in ('slack', 'ntfy', 'json')),
    url text not null,
    token text not null,
    every_project {int} not null,
    needs_you {int} not null,
    digest {int} not null,
    delay {int} not null,
    digest_hour {int} not null,
    digest_at {int} not null,
    created_by text not null,
    created_at {int} not null,
    succeeded_at {int} not null default 0,
    last_error text not null default '',
    primary key (project, id)
) {tail};

create index webhook_digest on webhook (digest_at) where digest = 1;

create table webhook_delivery (
    project text not null,
    id text not null,
    webhook text not null,
    request_project text not null,
    request text not null,
    body text not null,
    attempts {int} not null,
    due_at {int} not null,
    created_at {int} not null,
    primary key (project, id)
) {tail};

create index webhook_delivery_due on webhook_delivery (due_at);
create index webhook_delivery_age on webhook_delivery (project, created_at);
create index backlog_completed on backlog (project, completed_at)
