-- kind: data
-- Answers of before have no authentication; they are kept for a day only.
delete from idempotency;
