-- Installed last, and takes a row of a table: it exists only if the bundle is complete and matches the current tables.
-- Dropping the namespace's schema by hand drops this function too, so the next start reinstalls the bundle.
create function tidemark_fn.belongs_to(n tidemark.namespace) returns boolean
language sql immutable as $$ select true $$;
