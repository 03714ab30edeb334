-- The columns of claude-mem 13 that the importer reads.
create table observations (
  id integer primary key autoincrement, memory_session_id text not null, project text not null, text text,
  type text not null, title text, subtitle text, facts text, narrative text, concepts text, files_read text,
  files_modified text, prompt_number integer, created_at text not null, created_at_epoch integer not null);
create table session_summaries (
  id integer primary key autoincrement, memory_session_id text not null, project text not null, request text,
  investigated text, learned text, completed text, next_steps text, files_read text, files_edited text, notes text,
  created_at text not null, created_at_epoch integer not null);
