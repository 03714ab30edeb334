-- kind: additive
-- A thread is read from both sides: what an agent received is found by its deliveries, what it sent by the thread.
create index message_thread on message (project, thread, created_at);
