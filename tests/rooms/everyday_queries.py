"""Queries that people send to a shop's database every day: at least 200 for each engine, all of them only read."""

SCHEMA = (
    (
        "create table customers (id integer primary key, name varchar(60), email varchar(60), city varchar(40),"
        " country varchar(2), created_at timestamp, is_active integer, notes text)"
    ),
    (
        "create table products (id integer primary key, sku varchar(20), title varchar(80), category varchar(30),"
        " price decimal(10,2), stock integer, attributes {json})"
    ),
    (
        "create table orders (id integer primary key, customer_id integer, status varchar(20), total decimal(10,2),"
        " placed_on date, shipped_on date)"
    ),
    (
        "create table order_items (order_id integer, product_id integer, quantity integer, unit_price decimal(10,2),"
        " primary key (order_id, product_id))"
    ),
    "create view paid_orders as select id, customer_id, total from orders where status = 'paid'",
    "create view big_spenders as select customer_id, sum(total) as spent from paid_orders group by customer_id",
)
ROWS = (
    "insert into customers values (1,'Ann','ann@example.org','Bern','CH','2026-01-02 10:00:00',1,null)",
    "insert into customers values (2,'Bob','bob@example.org','Wien','AT','2026-02-03 11:30:00',1,'pays late')",
    "insert into customers values (3,'Cid','cid@example.com',null,'CH','2026-03-04 09:15:00',0,null)",
    'insert into products values (1,\'A-1\',\'Tea\',\'food\',4.50,10,\'{"colour": "green", "tags": ["hot", "leaf"]}\')',
    "insert into products values (2,'B-2','Cup','home',9.90,0,'{\"colour\": \"white\", \"size\": 3}')",
    "insert into orders values (1,1,'paid',18.90,'2026-04-01','2026-04-03')",
    "insert into orders values (2,1,'new',9.90,'2026-04-10',null)",
    "insert into orders values (3,2,'paid',4.50,'2026-05-01','2026-05-02')",
    "insert into order_items values (1,1,2,4.50)",
    "insert into order_items values (1,2,1,9.90)",
    "insert into order_items values (3,1,1,4.50)",
)
_COLUMNS = {
    "customers": ("name", "email", "city", "country", "created_at", "is_active"),
    "products": ("sku", "title", "category", "price", "stock"),
    "orders": ("customer_id", "status", "total", "placed_on", "shipped_on"),
    "order_items": ("order_id", "product_id", "quantity", "unit_price"),
}
_PER_TABLE = ("SELECT * FROM {t}", "SELECT count(*) FROM {t}", "SELECT * FROM {t} LIMIT 10 OFFSET 1")
_PER_COLUMN = (
    "SELECT {c} FROM {t} ORDER BY {c} DESC LIMIT 5",
    "SELECT {c}, count(*) AS n FROM {t} GROUP BY {c} ORDER BY n DESC",
    "SELECT count(*) FROM {t} WHERE {c} IS NULL",
    "SELECT min({c}), max({c}), count(DISTINCT {c}) FROM {t}",
)
_EVERYWHERE = (
    "SELECT 1",
    "SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.total DESC",
    "SELECT c.name, count(o.id) AS orders FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name",
    "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
    "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.total > 10)",
    "SELECT status, sum(total), avg(total), count(*) FROM orders GROUP BY status HAVING count(*) > 0",
    "SELECT * FROM orders WHERE placed_on BETWEEN '2026-04-01' AND '2026-04-30'",
    "SELECT * FROM customers WHERE email LIKE '%@example.org'",
    "SELECT * FROM customers WHERE country IN ('CH', 'AT') AND is_active = 1",
    "SELECT upper(name), lower(email), length(name) FROM customers",
    "SELECT coalesce(city, 'unknown') AS city FROM customers",
    "SELECT nullif(stock, 0) FROM products",
    "SELECT CASE WHEN stock = 0 THEN 'sold out' WHEN stock < 5 THEN 'low' ELSE 'ok' END AS state, title FROM products",
    "SELECT round(price * 1.081, 2) AS gross FROM products",
    "SELECT abs(price - 5), price % 2 FROM products",
    "SELECT cast(total AS integer) FROM orders",
    "SELECT DISTINCT country FROM customers ORDER BY country",
    "WITH spent AS (SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id) SELECT c.name, s.total FROM customers c JOIN spent s ON s.customer_id = c.id",
    "SELECT name, row_number() OVER (ORDER BY created_at) AS n FROM customers",
    "SELECT id, total, sum(total) OVER (PARTITION BY customer_id ORDER BY placed_on) AS running FROM orders",
    "SELECT id, lag(total) OVER (ORDER BY id), lead(total) OVER (ORDER BY id) FROM orders",
    "SELECT rank() OVER (ORDER BY total DESC) AS place, id FROM orders",
    "SELECT dense_rank() OVER (PARTITION BY status ORDER BY total) AS place, id FROM orders",
    "SELECT ntile(2) OVER (ORDER BY total) AS half, id FROM orders",
    "SELECT first_value(total) OVER (PARTITION BY customer_id ORDER BY id) FROM orders",
    "SELECT name FROM customers UNION SELECT title FROM products",
    "SELECT name FROM customers UNION ALL SELECT title FROM products ORDER BY 1",
    "SELECT p.title, sum(i.quantity) AS sold FROM products p JOIN order_items i ON i.product_id = p.id GROUP BY p.title ORDER BY sold DESC",
    "SELECT o.id, sum(i.quantity * i.unit_price) AS computed, o.total FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id, o.total",
    "SELECT c.country, sum(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.status = 'paid' GROUP BY c.country",
    "SELECT replace(email, '@', ' at ') FROM customers",
    "SELECT substr(sku, 1, 1) AS letter, count(*) FROM products GROUP BY substr(sku, 1, 1)",
    "SELECT trim(name) FROM customers",
    "SELECT * FROM paid_orders ORDER BY total",
    "SELECT * FROM big_spenders",
    "SELECT c.name, b.spent FROM customers c JOIN big_spenders b ON b.customer_id = c.id",
    "SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM customers) AS customers",
    "SELECT a.id, b.id FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND a.id < b.id",
    "SELECT id FROM orders WHERE shipped_on IS NULL AND status <> 'paid'",
    "SELECT id FROM orders WHERE NOT (total < 5 OR total > 15)",
    "SELECT max(placed_on) FROM orders WHERE customer_id = 1",
    "SELECT count(*) AS all_orders, sum(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) AS paid FROM orders",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n",
    "SELECT c.* FROM customers c WHERE c.id = 1",
    "SELECT t.status, t.n FROM (SELECT status, count(*) AS n FROM orders GROUP BY status) t WHERE t.n > 1",
    'SELECT name AS "full name" FROM customers',
    "SELECT 'update' AS word, 'delete from x' AS text_of_log FROM customers -- drop table",
    "SELECT id /* insert */ FROM orders WHERE status = 'drop'",
    "SELECT name FROM customers ORDER BY CASE WHEN city IS NULL THEN 1 ELSE 0 END, name",
    "SELECT customer_id FROM orders GROUP BY customer_id HAVING sum(total) > 10",
    "SELECT p.category, avg(p.price) AS mean FROM products p GROUP BY p.category ORDER BY mean",
    "SELECT o.*, c.email FROM orders o INNER JOIN customers c ON c.id = o.customer_id WHERE c.email = 'ann@example.org'",
    "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
    "SELECT count(*) FROM orders o, customers c WHERE o.customer_id = c.id",
    "SELECT id, total FROM orders WHERE total > (SELECT avg(total) FROM orders)",
    "SELECT status FROM orders GROUP BY status ORDER BY max(placed_on) DESC",
    "SELECT name, email FROM customers WHERE lower(name) = 'ann'",
    "SELECT sum(stock * price) AS value_of_stock FROM products",
    "SELECT count(DISTINCT customer_id) AS buyers FROM orders WHERE status = 'paid'",
    "SELECT name FROM customers WHERE created_at >= '2026-02-01' ORDER BY created_at",
    "SELECT category, count(*) FROM products WHERE stock > 0 GROUP BY category",
    "SELECT title FROM products ORDER BY price DESC LIMIT 1",
    "SELECT o.id, c.name, o.status FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status IN ('new', 'paid') ORDER BY o.placed_on DESC LIMIT 20",
    "SELECT c.city, count(DISTINCT o.id) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.city",
    "SELECT product_id, sum(quantity) FROM order_items GROUP BY product_id HAVING sum(quantity) > 1",
    "SELECT p.* FROM products p WHERE p.id NOT IN (SELECT product_id FROM order_items)",
    "SELECT id, total * 0.1 AS fee, total - total * 0.1 AS net FROM orders",
    "SELECT name FROM customers WHERE notes IS NOT NULL",
    "SELECT count(*) FROM customers WHERE email NOT LIKE '%example.org'",
    "SELECT a.name, b.name FROM customers a JOIN customers b ON a.country = b.country WHERE a.id < b.id",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT a.x, b.y FROM a JOIN b ON b.y > a.x",
)
_SQLITE = (
    "SELECT attributes->'colour' FROM products",
    "SELECT attributes->>'colour' FROM products",
    "SELECT attributes->>'$.colour' AS colour FROM products WHERE attributes->>'$.size' > 2",
    "SELECT attributes->'tags'->>0 FROM products",
    "SELECT json_extract(attributes, '$.colour') FROM products",
    "SELECT json_array_length(attributes, '$.tags') FROM products",
    "SELECT p.id, t.value FROM products p, json_each(p.attributes, '$.tags') t",
    "SELECT key, value, type FROM products p, json_each(p.attributes) WHERE p.id = 1",
    "SELECT json_group_array(name) FROM customers",
    "SELECT json_object('id', id, 'total', total) FROM orders",
    "SELECT * FROM articles WHERE articles MATCH 'tea'",
    "SELECT * FROM articles('tea')",
    "SELECT rowid, title FROM articles('title: tea') ORDER BY rank LIMIT 3",
    "SELECT a.title FROM articles('tea OR cup') AS a",
    "SELECT highlight(articles, 1, '[', ']') FROM articles('hot')",
    "SELECT snippet(articles, 1, '<b>', '</b>', '…', 8) FROM articles('hot') ORDER BY bm25(articles)",
    "SELECT date(placed_on, '+7 days') FROM orders",
    "SELECT strftime('%Y-%m', placed_on) AS month, sum(total) FROM orders GROUP BY month",
    "SELECT julianday(shipped_on) - julianday(placed_on) AS days FROM orders",
    "SELECT datetime('now'), date('now', 'start of month')",
    "SELECT group_concat(name, ', ') FROM customers",
    "SELECT total(price), typeof(price) FROM products",
    "SELECT ifnull(city, '-') FROM customers",
    "SELECT iif(stock > 0, 'yes', 'no') FROM products",
    "SELECT instr(email, '@') FROM customers",
    "SELECT printf('%.2f', total) FROM orders",
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    "PRAGMA table_info(orders)",
    "PRAGMA index_list('orders')",
    "EXPLAIN QUERY PLAN SELECT * FROM orders WHERE id = 1",
    "SELECT name FROM pragma_table_info('orders')",
    "SELECT name || ' <' || email || '>' FROM customers",
    "SELECT name GLOB 'A*' FROM customers",
    "SELECT min(total, 10) FROM orders",
    "SELECT count(*) FILTER (WHERE status = 'paid') FROM orders",
    "SELECT unixepoch(created_at) FROM customers",
    "SELECT hex(name), quote(name) FROM customers",
    "SELECT customer_id, max(total), placed_on FROM orders GROUP BY customer_id",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT sqlite_version()",
)
_POSTGRESQL = (
    "SELECT attributes->'colour' FROM products",
    "SELECT attributes->>'colour' FROM products WHERE attributes ? 'size'",
    "SELECT attributes #>> '{tags,0}' FROM products",
    'SELECT attributes @> \'{"colour": "green"}\' FROM products',
    "SELECT jsonb_array_elements_text(attributes->'tags') FROM products",
    "SELECT id, key, value FROM products, jsonb_each_text(attributes)",
    "SELECT jsonb_agg(name ORDER BY name) FROM customers",
    "SELECT jsonb_build_object('id', id, 'total', total) FROM orders",
    "SELECT jsonb_path_query_first(attributes, '$.colour') FROM products",
    "SELECT array_fill(0, ARRAY[3])",
    "SELECT array_fill(7, ARRAY[2, 3])",
    "SELECT pg_blocking_pids(pg_backend_pid())",
    "SELECT array_agg(name) FROM customers",
    "SELECT unnest(ARRAY[1, 2, 3])",
    "SELECT array_length(string_to_array(email, '@'), 1) FROM customers",
    "SELECT string_agg(name, ', ' ORDER BY name) FROM customers",
    "SELECT date_trunc('month', placed_on) AS month, sum(total) FROM orders GROUP BY 1",
    "SELECT extract(year FROM placed_on) FROM orders",
    "SELECT placed_on + interval '7 days' FROM orders",
    "SELECT age(shipped_on, placed_on) FROM orders",
    "SELECT now(), current_date, current_timestamp",
    "SELECT to_char(placed_on, 'YYYY-MM') FROM orders",
    "SELECT generate_series(1, 10)",
    "SELECT d::date FROM generate_series('2026-04-01'::date, '2026-04-10'::date, interval '1 day') d",
    "SELECT count(*) FILTER (WHERE status = 'paid') FROM orders",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders",
    "SELECT mode() WITHIN GROUP (ORDER BY status) FROM orders",
    "SELECT DISTINCT ON (customer_id) customer_id, total FROM orders ORDER BY customer_id, total DESC",
    "SELECT name FROM customers WHERE name ILIKE 'a%'",
    "SELECT name FROM customers WHERE name ~ '^[A-B]'",
    "SELECT regexp_replace(email, '@.*', '') FROM customers",
    "SELECT split_part(email, '@', 2) FROM customers",
    "SELECT total::text, total::numeric(12,1) FROM orders",
    "SELECT greatest(price, 5), least(stock, 3) FROM products",
    "SELECT width_bucket(total, 0, 20, 4) FROM orders",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'orders'",
    "EXPLAIN SELECT * FROM orders WHERE id = 1",
    "SELECT c.name, x.total FROM customers c CROSS JOIN LATERAL (SELECT total FROM orders o WHERE o.customer_id = c.id ORDER BY total DESC LIMIT 1) x",
    "SELECT country, city, count(*) FROM customers GROUP BY ROLLUP (country, city)",
    "SELECT country, city, count(*) FROM customers GROUP BY GROUPING SETS ((country), (city), ())",
    "SELECT name FROM customers FETCH FIRST 2 ROWS ONLY",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(id, name)",
    "VALUES (1, 'a'), (2, 'b')",
    "TABLE customers",
    "SELECT to_tsvector('english', title) @@ to_tsquery('english', 'tea') FROM products",
    "SELECT md5(email), encode(sha256(email::bytea), 'hex') FROM customers",
    "SELECT format('%s <%s>', name, email) FROM customers",
    "SELECT name FROM customers EXCEPT SELECT title FROM products",
    "SELECT name FROM customers INTERSECT SELECT name FROM customers",
    'SELECT name COLLATE "C" FROM customers ORDER BY 1',
    "SELECT version()",
)
_MYSQL = (
    "SELECT JSON_VALUE(attributes, '$.colour') FROM products",
    "SELECT id, JSON_VALUE(attributes, '$.size') AS size FROM products ORDER BY size",
    "SELECT JSON_EXTRACT(attributes, '$.colour') FROM products",
    "SELECT JSON_UNQUOTE(JSON_EXTRACT(attributes, '$.colour')) FROM products",
    "SELECT JSON_LENGTH(attributes, '$.tags') FROM products",
    "SELECT JSON_CONTAINS(attributes, '\"hot\"', '$.tags') FROM products",
    "SELECT JSON_OBJECT('id', id, 'total', total) FROM orders",
    "SELECT JSON_ARRAYAGG(name) FROM customers",
    "SELECT /*+ MAX_EXECUTION_TIME(1000) */ * FROM orders",
    "SELECT /*+ NO_INDEX_MERGE(orders) */ id FROM orders WHERE status = 'paid'",
    "SELECT /*+ JOIN_ORDER(c, o) */ c.name FROM customers c JOIN orders o ON o.customer_id = c.id",
    "VALUES (1, 'a'), (2, 'b')",
    "VALUES ROW(1, 'a'), ROW(2, 'b')",
    "SELECT * FROM orders FORCE INDEX (PRIMARY) WHERE id = 1",
    "SELECT DATE_FORMAT(placed_on, '%Y-%m') AS month, SUM(total) FROM orders GROUP BY month",
    "SELECT DATEDIFF(shipped_on, placed_on) FROM orders",
    "SELECT DATE_ADD(placed_on, INTERVAL 7 DAY) FROM orders",
    "SELECT YEAR(placed_on), MONTH(placed_on), DAY(placed_on) FROM orders",
    "SELECT NOW(), CURDATE(), UTC_TIMESTAMP()",
    "SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR ', ') FROM customers",
    "SELECT IFNULL(city, '-'), IF(is_active, 'yes', 'no') FROM customers",
    "SELECT CONCAT(name, ' <', email, '>') FROM customers",
    "SELECT CONCAT_WS(', ', city, country) FROM customers",
    "SELECT SUBSTRING_INDEX(email, '@', -1) FROM customers",
    "SELECT name FROM customers WHERE name REGEXP '^[AB]'",
    "SELECT LOCATE('@', email) FROM customers",
    "SELECT FORMAT(total, 2) FROM orders",
    "SELECT GREATEST(price, 5), LEAST(stock, 3) FROM products",
    "SELECT CAST(total AS SIGNED), CONVERT(total, CHAR) FROM orders",
    "SELECT UNIX_TIMESTAMP(created_at) FROM customers",
    "SELECT FIELD(status, 'new', 'paid') FROM orders ORDER BY FIELD(status, 'new', 'paid')",
    "SELECT LPAD(id, 5, '0') FROM orders",
    "SELECT MD5(email) FROM customers",
    "SELECT TIMESTAMPDIFF(DAY, placed_on, shipped_on) FROM orders",
    "SHOW TABLES",
    "SHOW COLUMNS FROM orders",
    "SHOW INDEX FROM orders",
    "DESCRIBE orders",
    "EXPLAIN SELECT * FROM orders WHERE id = 1",
    "SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = DATABASE()",
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'orders'",
    "SELECT @@version",
    "SELECT VERSION(), DATABASE()",
    "SELECT country, COUNT(*) FROM customers GROUP BY country WITH ROLLUP",
    "SELECT STR_TO_DATE('2026-04-01', '%Y-%m-%d')",
)
_OWN = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL, "mysql": _MYSQL}
# What one engine writes in another way.
_SPELLINGS = {
    "mysql": {
        "cast(total AS integer)": "cast(total AS signed)",
        'AS "full name"': "AS `full name`",
        "is_active": "is_active",
    },
    "postgresql": {},
    "sqlite": {},
}


def list_everyday_queries(dialect: str) -> list[str]:
    per_table = [form.format(t=table) for table in _COLUMNS for form in _PER_TABLE]
    per_column = [
        form.format(t=table, c=column)
        for table, columns in _COLUMNS.items()
        for column in columns
        for form in _PER_COLUMN
    ]
    queries = [*per_table, *per_column, *_EVERYWHERE]
    for usual, own in _SPELLINGS[dialect].items():
        queries = [query.replace(usual, own) for query in queries]
    return [*queries, *_OWN[dialect]]


def list_setup_statements(dialect: str) -> list[str]:
    json_type = {"sqlite": "text", "postgresql": "jsonb", "mysql": "json"}[dialect]
    search = (
        [
            "create virtual table articles using fts5(title, body)",
            "insert into articles values ('tea', 'a hot drink'), ('cup', 'for hot drinks')",
        ]
        if dialect == "sqlite"
        else []
    )
    return [*(statement.replace("{json}", json_type) for statement in SCHEMA), *ROWS, *search]
