-- Installed last, and takes a row of a table: it exists where the bundle is complete and was made for the present tables.
-- Whoever drops the namespace's schema by hand takes this function along, and the next start installs the bundle anew.
create function tidemark_fn.belongs_to(n tidemark.namespace) returns boolean
language sql immutable as $$ select true $$;
