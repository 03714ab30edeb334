-- kind: additive
create index session_age on session (project, active_at);

create index notice_age on notice (project, at);

create index served_age on served (project, at);

create index delivery_finished on delivery (project, changed_at) where state >= 3;
