-- kind: additive
-- When an agent last reported its status itself; without a recent report its calls decide.
alter table agent add column status_at {int};
