-- kind: additive
-- force_store asks for one title among all documents of a type.
create index document_namesake on document (project, type, lower(title));
