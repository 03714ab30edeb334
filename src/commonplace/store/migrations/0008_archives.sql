-- kind: additive
create table archive (
  project text not null,
  workspace text not null,
  session text {order} not null,
  tool text not null,
  title text not null,
  bytes {int} not null,
  lines {int} not null,
  line_start {int} not null,
  compressed_bytes {int} not null,
  sha256 text not null,
  started_at {int} not null,
  ended_at {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project, workspace, session)
) {tail};

create index archive_recent on archive (project, workspace, ended_at, session);

create table archive_frame (
  project text not null,
  workspace text not null,
  session text {order} not null,
  first_byte {int} not null,
  raw_bytes {int} not null,
  lines_before {int} not null,
  lines_through {int} not null,
  sha256 text not null,
  stored_bytes {int} not null,
  address text not null,
  body {blob} not null,
  primary key (project, workspace, session, first_byte)
);

create index archive_frame_lines on archive_frame (project, workspace, session, lines_through, first_byte);

create table archive_body (
  project text not null,
  address text not null,
  written_at {int} not null,
  unwanted {int} not null,
  primary key (project, address)
) {tail};

create index archive_body_old on archive_body (written_at);
