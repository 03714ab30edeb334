BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "collections" (
    id TEXT PRIMARY KEY, -- unique globally
    name TEXT NOT NULL, -- unique per database
    dimension INTEGER,
    database_id TEXT NOT NULL REFERENCES databases(id) ON DELETE CASCADE, config_json_str TEXT, schema_str TEXT,
    UNIQUE (name, database_id)
);
INSERT INTO collections VALUES('b88e79b2-d295-4a8c-a1c0-26b1807266c4','proj_shop',8,'00000000-0000-0000-0000-000000000000','{}','{"defaults":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}},"float_list":{"vector_index":{"enabled":false,"config":{"space":"l2","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":2,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}},"sparse_vector":{"sparse_vector_index":{"enabled":false,"config":{"embedding_function":{"type":"unknown"},"bm25":false}}},"int":{"int_inverted_index":{"enabled":true,"config":{}}},"float":{"float_inverted_index":{"enabled":true,"config":{}}},"bool":{"bool_inverted_index":{"enabled":true,"config":{}}}},"keys":{"created":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"tags":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"title":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"type":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"project":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#document":{"string":{"fts_index":{"enabled":true,"config":{}},"string_inverted_index":{"enabled":false,"config":{}}}},"status":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#embedding":{"float_list":{"vector_index":{"enabled":true,"config":{"space":"l2","source_key":"#document","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":2,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}}},"created_by":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"assigned_to":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"claude_instance":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"priority":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"backlog_status":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}}}}');
INSERT INTO collections VALUES('b7bdee67-def3-4a9b-aefb-fc66788a03af','shared_patterns',8,'00000000-0000-0000-0000-000000000000','{}','{"defaults":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}},"float_list":{"vector_index":{"enabled":false,"config":{"space":"l2","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":2,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}},"sparse_vector":{"sparse_vector_index":{"enabled":false,"config":{"embedding_function":{"type":"unknown"},"bm25":false}}},"int":{"int_inverted_index":{"enabled":true,"config":{}}},"float":{"float_inverted_index":{"enabled":true,"config":{}}},"bool":{"bool_inverted_index":{"enabled":true,"config":{}}}},"keys":{"#embedding":{"float_list":{"vector_index":{"enabled":true,"config":{"space":"l2","source_key":"#document","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":2,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}}},"type":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#document":{"string":{"fts_index":{"enabled":true,"config":{}},"string_inverted_index":{"enabled":false,"config":{}}}},"status":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"title":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"access_count":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}}}}');
CREATE TABLE IF NOT EXISTS "segments" (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    collection TEXT REFERENCES collection(id) NOT NULL
);
INSERT INTO segments VALUES('a73b4890-2687-410c-a4b7-fc3cac84c4e3','urn:chroma:segment/vector/hnsw-local-persisted','VECTOR','b88e79b2-d295-4a8c-a1c0-26b1807266c4');
INSERT INTO segments VALUES('a5bab24b-62aa-470a-bd39-14d791e81fcb','urn:chroma:segment/metadata/sqlite','METADATA','b88e79b2-d295-4a8c-a1c0-26b1807266c4');
INSERT INTO segments VALUES('73516db1-7f73-4e29-a30f-56eef1cf40a3','urn:chroma:segment/vector/hnsw-local-persisted','VECTOR','b7bdee67-def3-4a9b-aefb-fc66788a03af');
INSERT INTO segments VALUES('ac294796-7f8a-4bc6-aa9e-70815d15647e','urn:chroma:segment/metadata/sqlite','METADATA','b7bdee67-def3-4a9b-aefb-fc66788a03af');
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    segment_id TEXT NOT NULL,
    embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (segment_id, embedding_id)
);
INSERT INTO embeddings VALUES(1,'a5bab24b-62aa-470a-bd39-14d791e81fcb','learning_1',1,'2026-11-17 07:15:40');
INSERT INTO embeddings VALUES(2,'a5bab24b-62aa-470a-bd39-14d791e81fcb','backlog_1',2,'2026-11-17 07:15:40');
INSERT INTO embeddings VALUES(3,'ac294796-7f8a-4bc6-aa9e-70815d15647e','x',3,'2026-11-17 07:15:40');
CREATE TABLE embedding_metadata (
    id INTEGER REFERENCES embeddings(id),
    key TEXT NOT NULL,
    string_value TEXT,
    int_value INTEGER,
    float_value REAL, bool_value INTEGER,
    PRIMARY KEY (id, key)
);
INSERT INTO embedding_metadata VALUES(1,'type','learning',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(1,'claude_instance','ann',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(1,'tags','["db"]',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(1,'title','Idle pool',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(1,'created','2026-01-02T03:04:05',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(1,'chroma:document',replace('# Idle pool\n\nPgBouncer closes idle connections.','\n',char(10)),NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(1,'status','active',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'chroma:document',replace('# Reverse charge\n\nFor companies in the EU.','\n',char(10)),NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'assigned_to','',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'backlog_status','open',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'priority','high',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'title','Reverse charge',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'project','shop',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'created_by','ann',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'tags','[]',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(2,'type','backlog',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(3,'access_count',NULL,3,NULL,NULL);
INSERT INTO embedding_metadata VALUES(3,'chroma:document','Use exponential backoff',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(3,'type','pattern',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(3,'status','deprecated',NULL,NULL,NULL);
INSERT INTO embedding_metadata VALUES(3,'title','Backoff',NULL,NULL,NULL);
COMMIT;
