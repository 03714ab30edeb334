-- kind: data
-- Links between documents are declared by their texts; those that were guessed from contradictions go.
delete from document_link where not exists (
    select 1 from document where document.project = document_link.project and document.id = document_link.later
    and document.content like '%' || document_link.document || '%'
);
