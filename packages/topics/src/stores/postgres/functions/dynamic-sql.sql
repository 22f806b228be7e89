-- Dynamic SQL. Every topic has its own tables, and a table name cannot be a parameter, so a statement that names one is
-- built as text. Only these functions and those in page.sql run such texts. `$1` and `$2` in a text stand for the
-- arrays passed along with it.

-- Runs a statement. Returns the number of rows it wrote or read.
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

-- The single number that a query returns; null if it returns no row.
create function tidemark_fn.number_of(query text) returns bigint
language plpgsql volatile as $$
declare
  number bigint;
begin
  execute query into number;
  return number;
end
$$;

-- The single timestamp that a query returns; null if it returns no row.
create function tidemark_fn.time_of(query text, given bigint[] default null) returns timestamptz
language plpgsql volatile as $$
declare
  at timestamptz;
begin
  execute query using given into at;
  return at;
end
$$;

-- The keys that a query returns, in its order.
create function tidemark_fn.keys_of(query text, given bigint[] default null, out xids xid8[], out ids bigint[])
language plpgsql volatile as $$
begin
  execute format('select array_agg(xid), array_agg(id) from (%s) as q', query) using given into xids, ids;
end
$$;

-- The rows that a query returns, with the columns that the caller names.
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
