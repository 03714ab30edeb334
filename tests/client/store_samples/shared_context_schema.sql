-- The columns of shared-context-server (schema 3) that the importer reads.
create table sessions (
  id text primary key, purpose text not null, created_at timestamp default current_timestamp, is_active boolean default true,
  created_by text not null, metadata text);
create table messages (
  id integer primary key autoincrement, session_id text not null, sender text not null, content text not null,
  visibility text default 'public', message_type text default 'agent_response', timestamp timestamp default current_timestamp);
create table agent_memory (
  id integer primary key autoincrement, agent_id text not null, session_id text, key text not null, value text not null);
