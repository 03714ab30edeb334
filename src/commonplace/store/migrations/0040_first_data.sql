-- kind: additive
-- What the page asks for first is a few rows of large tables.
create index message_for_people on message (project, created_at) where require_human = 1;

create index document_doubtful on document (project, changed_at) where status in ('conflicted', 'review_pending');

create index document_flagged on document (project, created_at) where flags <> '[]';

create index citation_changed on citation (project, document) where state in ('drifted', 'gone');

create index backlog_status on backlog (project, status, updated_at) where closed = 0;

create index audit_prevented on audit (project, at) where outcome in ('conflict', 'duplicate', 'stale_token', 'forbidden') or operation in ('memory_lock_files', 'memory_report_prevented');
