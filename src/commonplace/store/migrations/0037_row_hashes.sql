-- kind: additive
-- A hash of each row, so that a changed byte is found. Null: not hashed yet.
alter table document add column row_hash {int};

alter table document_version add column row_hash {int};

alter table archive add column row_hash {int};

alter table archive_frame add column row_hash {int};

create index document_unhashed on document (project, id) where row_hash is null;

create index document_version_unhashed on document_version (project, document, version) where row_hash is null;

create index archive_unhashed on archive (project, workspace, session) where row_hash is null;

create index archive_frame_unhashed on archive_frame (project, workspace, session, first_byte) where row_hash is null;
