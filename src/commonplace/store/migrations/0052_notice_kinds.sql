-- kind: additive
-- What a notice tells of, as JSON that notices.py renders. Rows of earlier releases have no kind, and a text.
alter table notice add column kind text not null default '';
alter table notice add column subject text not null default '';
alter table notice add column body text not null default '';
