-- Dynamic SQL. Every topic has tables of its own, and no parameter can stand for a table's name: a statement that names one is
-- a text. These functions run such texts, together with read_rows of page.sql; no other function does. `$1` and `$2` in a
-- text stand for the arrays that are given with it.

-- Runs a statement. Returns how many rows it wrote or read.
create function tidemark_fn.run(statement text) returns bigint
language plpgsql volatile as $$
declare
  rows bigint;
begin
  execute statement;
  get diagnostics rows = row_count;
  return rows;
end
$$;

create function tidemark_fn.run(statement text, given anyarray, more bigint[] default null) returns bigint
language plpgsql volatile as $$
declare
  rows bigint;
begin
  execute statement using given, more;
  get diagnostics rows = row_count;
  return rows;
end
$$;

create function tidemark_fn.count_of(query text) returns bigint
language plpgsql volatile as $$
declare
  counted bigint;
begin
  execute format('select count(*) from (%s) as q', query) into counted;
  return counted;
end
$$;

create function tidemark_fn.has_rows(query text) returns boolean
language plpgsql volatile as $$
declare
  is_there boolean;
begin
  execute format('select exists (%s)', query) into is_there;
  return is_there;
end
$$;

-- The one number that a query brings; null where it brings no row.
create function tidemark_fn.number_of(query text) returns bigint
language plpgsql volatile as $$
declare
  number bigint;
begin
  execute query into number;
  return number;
end
$$;

-- The one time that a query brings; null where it brings no row.
create function tidemark_fn.time_of(query text, given bigint[] default null) returns timestamptz
language plpgsql volatile as $$
declare
  at timestamptz;
begin
  execute query using given into at;
  return at;
end
$$;

-- The keys that a query brings, in its order.
create function tidemark_fn.keys_of(query text, given bigint[] default null, out xids xid8[], out ids bigint[])
language plpgsql volatile as $$
begin
  execute format('select array_agg(xid), array_agg(id) from (%s) as q', query) using given into xids, ids;
end
$$;

-- The rows that a query brings, of the columns that the caller names.
create function tidemark_fn.records_of(query text) returns setof record
language plpgsql volatile as $$
begin
  return query execute query;
end
$$;

create function tidemark_fn.records_of(query text, given anyarray) returns setof record
language plpgsql volatile as $$
begin
  return query execute query using given;
end
$$;
