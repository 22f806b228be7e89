-- What an operator's verb would do, in numbers, before it does it.

-- The messages of a range of ids, from a time on where `p_since` is given: how many, counted up to `p_most` and estimated from
-- ids beyond that, and the first and the last of them.
create function tidemark_fn.count_range(p_topic int, after bigint, p_last bigint, p_since timestamptz, p_most int) returns json
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  matching text := format('from tidemark.log_%s where id > %s and id <= %s%s', p_topic, after, p_last,
    case when p_since is null then '' else format(' and created_at >= %L::timestamptz', p_since) end);
  counted bigint := 0;
  ends json;
begin
  if p_last > after then
    counted := tidemark_fn.count_of(format('select id %s order by id limit %s', matching, p_most + 1));
  end if;
  if counted > 0 then
    select json_object_agg(e.place, json_build_object('id', e.id, 'at', tidemark_fn.to_ms(e.created_at), 'key', e.key)) into ends
    from tidemark_fn.records_of(format(
      '(select ''first'', id, created_at, key %1$s order by id limit 1) union all '
      '(select ''last'', id, created_at, key %1$s order by id desc limit 1)', matching)) as e (place text, id bigint, created_at timestamptz, key text);
  end if;
  return json_build_object(
    'count', case when counted > p_most then greatest(counted,
      tidemark_fn.ids_after(p_topic, after, tidemark_fn.last_id(p_topic)) - tidemark_fn.ids_after(p_topic, p_last, tidemark_fn.last_id(p_topic)))
      else counted end,
    'isExact', counted <= p_most, 'first', ends -> 'first', 'last', ends -> 'last');
end
$$;

-- What reset_cursor would move over, and what would wait for the group then. Takes no lock and no transaction id.
create function tidemark_fn.preview_reset(
  p_subscription int, p_from text, p_since timestamptz, p_id bigint, p_most int,
  out status text, out from_id bigint, out to_id bigint, out between_ids json, out waiting json
)
language plpgsql volatile as $$
declare
  s tidemark.subscription;
  last bigint;
  kept bigint;
begin
  select * into s from tidemark.subscription as x where x.id = p_subscription;
  status := s.status;
  if status is null then
    return;
  end if;
  last := tidemark_fn.last_id(s.topic_id);
  kept := greatest(tidemark_fn.first_kept_id(s.topic_id), 1) - 1;
  from_id := greatest(least(greatest(s.from_id, s.at_id), last), kept);
  to_id := case
    when p_from = 'now' then last
    when p_since is not null then tidemark_fn.id_before(s.topic_id, p_since, last)
    else greatest(coalesce(p_id - 1, 0), kept)
  end;
  between_ids := tidemark_fn.count_range(s.topic_id, least(from_id, to_id), greatest(from_id, to_id),
    case when to_id < from_id then p_since end, p_most);
  waiting := tidemark_fn.count_range(s.topic_id, to_id, last, p_since, p_most);
end
$$;

-- Messages that could be gone if the topic had these settings: processed ones past their retention, and any that are older than
-- the maximum. As ids: clean-up removes whole partitions, so fewer may go.
create function tidemark_fn.removable_with(p_topic int, p_config jsonb) returns bigint
language sql volatile as $$
  select greatest(
    (
      select tidemark_fn.removable(p_topic, coalesce(d.live_groups, 0), d.watermark, p_config)
      from (select) as one
      left join tidemark_fn.describe_json(array[p_topic], 1, 1) as d on true
    ),
    case when p_config ->> 'maxRetentionMs' is not null then
      tidemark_fn.id_near(p_topic, clock_timestamp() - (p_config ->> 'maxRetentionMs')::float8 * interval '1 millisecond')
        - greatest(tidemark_fn.first_kept_id(p_topic), 1)
    end,
    0)
$$;
