-- Small conversions that several files use.

create function tidemark_fn.now_ms() returns bigint
language sql volatile as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Stable, because `extract` is: otherwise it would not be inlined into the calling statement.
create function tidemark_fn.to_ms(at timestamptz) returns bigint
language sql stable as $$ select floor(extract(epoch from at) * 1000)::bigint $$;

create function tidemark_fn.is_older(moment timestamptz, ms float8) returns boolean
language sql volatile as $$ select coalesce(moment < clock_timestamp() - ms * interval '1 millisecond', false) $$;

create function tidemark_fn.int_array(list jsonb) returns int[]
language sql immutable as $$ select array(select e::int from jsonb_array_elements_text(list) as e) $$;
