-- kind: additive
-- A claim is a lease of a session: it lapses with it, and the item remembers whose it was.
alter table backlog add column claim_project text not null default '';

alter table backlog add column claim_session text not null default '';

alter table backlog add column claim_assigned {int} not null default 0;

alter table backlog add column claimed_until {int};

alter table backlog add column was_claimed_by text not null default '';

alter table backlog add column was_claimed_until {int};

-- In the project of the session, so that its activity finds what to renew without asking every project.
create table backlog_claim (
  project text not null,
  session text not null,
  item_project text not null,
  item text not null,
  primary key (project, session, item_project, item)
) {tail};
