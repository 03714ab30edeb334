-- kind: additive
create index embedding_512 on embedding using hnsw ((value::halfvec(512)) halfvec_ip_ops) where (dimensions = 512);
