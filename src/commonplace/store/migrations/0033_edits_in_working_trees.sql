-- kind: additive
-- The working tree in which a file was touched: the same path in another one is another file.
alter table touched add column root text not null default '';
