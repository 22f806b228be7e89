--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: tidemark; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA tidemark;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: subscription; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.subscription (
    id integer NOT NULL,
    uid bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    topic_id integer NOT NULL,
    group_name text NOT NULL,
    status text DEFAULT 'ACTIVE'::text NOT NULL,
    epoch integer DEFAULT 1 NOT NULL,
    window_from pg_snapshot NOT NULL,
    window_to pg_snapshot NOT NULL,
    late_ids bigint[] NOT NULL,
    open_ids bigint[] NOT NULL,
    from_id bigint NOT NULL,
    next_id bigint NOT NULL,
    seen_id bigint NOT NULL,
    to_id bigint NOT NULL,
    at_id bigint NOT NULL,
    since timestamp with time zone,
    start_from pg_snapshot NOT NULL,
    start_to pg_snapshot NOT NULL,
    start_id bigint NOT NULL,
    "bit" integer,
    live_xid xid8,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    status_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    moved_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    moves bigint DEFAULT 0 NOT NULL,
    last_heartbeat_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    heartbeat_interval_ms bigint NOT NULL,
    heartbeat_timeout_ms bigint NOT NULL,
    dead_after_misses integer NOT NULL,
    misses integer DEFAULT 0 NOT NULL,
    missed_at timestamp with time zone,
    backfill_limit bigint,
    backfilling boolean DEFAULT false NOT NULL,
    cleared_epoch integer DEFAULT 0 NOT NULL,
    cleared_id bigint DEFAULT 0 NOT NULL,
    ended_xid xid8,
    processed bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    filtered bigint DEFAULT 0 NOT NULL,
    minute bigint DEFAULT 0 NOT NULL,
    minute_count bigint DEFAULT 0 NOT NULL,
    previous_count bigint DEFAULT 0 NOT NULL,
    lost bigint DEFAULT 0 NOT NULL,
    lost_at timestamp with time zone,
    lost_dead bigint DEFAULT 0 NOT NULL,
    lost_acknowledged bigint DEFAULT 0 NOT NULL,
    CONSTRAINT subscription_bit_check CHECK ((("bit" >= 0) AND ("bit" <= 63))),
    CONSTRAINT subscription_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'PAUSED'::text, 'DEAD'::text, 'CANCELLED'::text])))
)
WITH (fillfactor='50');


--
-- Name: backfill; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.backfill (
    subscription_id integer NOT NULL,
    topic_id integer NOT NULL,
    epoch integer NOT NULL,
    status text NOT NULL,
    scope text NOT NULL,
    settings jsonb NOT NULL,
    lower_from pg_snapshot NOT NULL,
    lower_to pg_snapshot NOT NULL,
    lower_place bigint NOT NULL,
    since timestamp with time zone,
    upper pg_snapshot NOT NULL,
    lower_id bigint NOT NULL,
    upper_id bigint NOT NULL,
    checkpoint_id bigint NOT NULL,
    cursor_id bigint NOT NULL,
    processed bigint DEFAULT 0 NOT NULL,
    token uuid,
    lease_until timestamp with time zone,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    error text,
    CONSTRAINT backfill_scope_check CHECK ((scope = ANY (ARRAY['pending'::text, 'retained'::text]))),
    CONSTRAINT backfill_status_check CHECK ((status = ANY (ARRAY['RUNNING'::text, 'COMPLETED'::text, 'CANCELLED'::text, 'FAILED'::text])))
);


--
-- Name: namespace; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.namespace (
    only_row boolean DEFAULT true NOT NULL,
    incarnation bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    receipt_key bytea DEFAULT sha256((uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT namespace_only_row_check CHECK (only_row)
);


--
-- Name: partition; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.partition (
    topic_id integer NOT NULL,
    number bigint NOT NULL,
    seal_xid xid8 NOT NULL,
    sealed_at timestamp with time zone,
    rows bigint,
    newest timestamp with time zone,
    unclaimed jsonb DEFAULT '{}'::jsonb NOT NULL,
    dropping_since timestamp with time zone
);


--
-- Name: lease; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.lease (
    token uuid NOT NULL,
    subscription_id integer NOT NULL,
    consumer text NOT NULL,
    kind text NOT NULL,
    size integer NOT NULL,
    window_from pg_snapshot,
    window_to pg_snapshot,
    first_id bigint,
    last_id bigint,
    settled bit varying,
    deadline timestamp with time zone,
    claimed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    done_at timestamp with time zone,
    expired_at timestamp with time zone,
    CONSTRAINT lease_kind_check CHECK ((kind = ANY (ARRAY['page'::text, 'retry'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='2000');


--
-- Name: topic; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.topic (
    id integer NOT NULL,
    name text NOT NULL,
    uid bigint NOT NULL,
    semantics text NOT NULL,
    config jsonb NOT NULL,
    config_version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    gone_id bigint DEFAULT 0 NOT NULL,
    skipped_ids bigint DEFAULT 0 NOT NULL,
    fill_next_id bigint,
    fill_last_id bigint,
    fill_xid xid8,
    CONSTRAINT topic_semantics_check CHECK ((semantics = ANY (ARRAY['queue'::text, 'pub-sub'::text])))
);


--
-- Name: bit_wipe; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.bit_wipe (
    topic_id integer NOT NULL,
    "bit" integer NOT NULL,
    next_id bigint NOT NULL,
    last_id bigint NOT NULL,
    ended_xid xid8 NOT NULL
);


--
-- Name: cluster; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.cluster (
    only_row boolean DEFAULT true NOT NULL,
    system_identifier text NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT cluster_only_row_check CHECK (only_row)
);


--
-- Name: track_2; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.track_2 (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    required bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL
)
PARTITION BY RANGE (id);


--
-- Name: completion_2; Type: VIEW; Schema: tidemark; Owner: -
--

CREATE VIEW tidemark.completion_2 AS
 SELECT t.id,
    s.group_name,
    (((t.required >> s."bit") & (1)::bigint) = 1) AS required,
    (((t.completed >> s."bit") & (1)::bigint) = 1) AS completed
   FROM (tidemark.track_2 t
     JOIN tidemark.subscription s ON (((s.topic_id = 2) AND ((((t.required | t.completed) >> s."bit") & (1)::bigint) = 1))));


--
-- Name: completion_counts_2; Type: VIEW; Schema: tidemark; Owner: -
--

CREATE VIEW tidemark.completion_counts_2 AS
 SELECT t.id,
    bit_count((t.required)::bit(64)) AS required,
    bit_count(((t.required & t.completed))::bit(64)) AS completed,
    ((t.required & (~ t.completed)) = 0) AS done
   FROM tidemark.track_2 t;


--
-- Name: consumer; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.consumer (
    subscription_id integer NOT NULL,
    instance text NOT NULL,
    consumer text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    reported_at timestamp with time zone NOT NULL,
    active_at timestamp with time zone,
    processed bigint NOT NULL,
    failed bigint NOT NULL,
    claims bigint NOT NULL,
    claim_conflicts bigint NOT NULL,
    handler jsonb NOT NULL
);


--
-- Name: dead_letter; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.dead_letter (
    id bigint NOT NULL,
    topic_id integer NOT NULL,
    subscription_id integer NOT NULL,
    group_name text NOT NULL,
    message_id bigint NOT NULL,
    salt bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    key text,
    type text,
    headers text,
    given_message_id text,
    payload bytea NOT NULL,
    attempts integer NOT NULL,
    version integer NOT NULL,
    error jsonb NOT NULL,
    history jsonb NOT NULL,
    dead_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: dead_letter_id_seq; Type: SEQUENCE; Schema: tidemark; Owner: -
--

ALTER TABLE tidemark.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tidemark.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: dedupe; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.dedupe (
    topic_id integer NOT NULL,
    message_id text NOT NULL,
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);


--
-- Name: done_range; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.done_range (
    subscription_id integer NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL
);


--
-- Name: function_bundle; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.function_bundle (
    hash text NOT NULL,
    installed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: job; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.job (
    name text NOT NULL,
    token uuid,
    locked_until timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    runs bigint DEFAULT 0 NOT NULL,
    result jsonb,
    succeeded_at timestamp with time zone,
    took_ms double precision
);


--
-- Name: log_1; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
)
PARTITION BY RANGE (id);


--
-- Name: log_1_id; Type: SEQUENCE; Schema: tidemark; Owner: -
--

CREATE SEQUENCE tidemark.log_1_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: log_1_id; Type: SEQUENCE OWNED BY; Schema: tidemark; Owner: -
--

ALTER SEQUENCE tidemark.log_1_id OWNED BY tidemark.log_1.id;


--
-- Name: log_1_p0; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1_p0 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_1_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_1_p1; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1_p1 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_1_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_1_p2; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1_p2 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_1_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_1_p3; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1_p3 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_1_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_1_p4; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1_p4 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_1_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_1_p5; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_1_p5 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_1_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_2; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_2 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
)
PARTITION BY RANGE (id);


--
-- Name: log_2_id; Type: SEQUENCE; Schema: tidemark; Owner: -
--

CREATE SEQUENCE tidemark.log_2_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: log_2_id; Type: SEQUENCE OWNED BY; Schema: tidemark; Owner: -
--

ALTER SEQUENCE tidemark.log_2_id OWNED BY tidemark.log_2.id;


--
-- Name: log_2_p0; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_2_p0 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_2_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_2_p1; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_2_p1 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_2_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_2_p2; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_2_p2 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_2_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_3; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_3 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
)
PARTITION BY RANGE (id);


--
-- Name: log_3_id; Type: SEQUENCE; Schema: tidemark; Owner: -
--

CREATE SEQUENCE tidemark.log_3_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: log_3_id; Type: SEQUENCE OWNED BY; Schema: tidemark; Owner: -
--

ALTER SEQUENCE tidemark.log_3_id OWNED BY tidemark.log_3.id;


--
-- Name: log_3_p0; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_3_p0 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_3_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: log_3_p1; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.log_3_p1 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('tidemark.log_3_id'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    salt bigint DEFAULT ((('x'::text || "right"(replace((gen_random_uuid())::text, '-'::text, ''::text), 13)))::bit(52))::bigint NOT NULL,
    key text,
    type text,
    headers text,
    message_id text,
    payload bytea NOT NULL
);


--
-- Name: messages_1; Type: VIEW; Schema: tidemark; Owner: -
--

CREATE VIEW tidemark.messages_1 AS
 SELECT log_1.id,
    log_1.created_at,
    log_1.key,
    log_1.type,
    (log_1.headers)::jsonb AS headers,
    log_1.message_id,
        CASE
            WHEN (log_1.type IS NULL) THEN (convert_from(log_1.payload, 'UTF8'::name))::jsonb
            ELSE NULL::jsonb
        END AS json,
    log_1.payload,
    log_1.xid
   FROM tidemark.log_1;


--
-- Name: messages_2; Type: VIEW; Schema: tidemark; Owner: -
--

CREATE VIEW tidemark.messages_2 AS
 SELECT log_2.id,
    log_2.created_at,
    log_2.key,
    log_2.type,
    (log_2.headers)::jsonb AS headers,
    log_2.message_id,
        CASE
            WHEN (log_2.type IS NULL) THEN (convert_from(log_2.payload, 'UTF8'::name))::jsonb
            ELSE NULL::jsonb
        END AS json,
    log_2.payload,
    log_2.xid
   FROM tidemark.log_2;


--
-- Name: messages_3; Type: VIEW; Schema: tidemark; Owner: -
--

CREATE VIEW tidemark.messages_3 AS
 SELECT log_3.id,
    log_3.created_at,
    log_3.key,
    log_3.type,
    (log_3.headers)::jsonb AS headers,
    log_3.message_id,
        CASE
            WHEN (log_3.type IS NULL) THEN (convert_from(log_3.payload, 'UTF8'::name))::jsonb
            ELSE NULL::jsonb
        END AS json,
    log_3.payload,
    log_3.xid
   FROM tidemark.log_3;


--
-- Name: migration; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.migration (
    version integer NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: retry; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.retry (
    subscription_id integer NOT NULL,
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    attempts integer NOT NULL,
    version integer NOT NULL,
    due_at timestamp with time zone NOT NULL,
    token uuid,
    slot integer,
    suspect boolean NOT NULL,
    piece uuid,
    history jsonb NOT NULL
);


--
-- Name: subscription_id_seq; Type: SEQUENCE; Schema: tidemark; Owner: -
--

ALTER TABLE tidemark.subscription ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tidemark.subscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: topic_id_seq; Type: SEQUENCE; Schema: tidemark; Owner: -
--

ALTER TABLE tidemark.topic ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tidemark.topic_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: track_2_p0; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.track_2_p0 (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    required bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');


--
-- Name: track_2_p1; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.track_2_p1 (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    required bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');


--
-- Name: track_2_p2; Type: TABLE; Schema: tidemark; Owner: -
--

CREATE TABLE tidemark.track_2_p2 (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    required bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');


--
-- Name: log_1_p0; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ATTACH PARTITION tidemark.log_1_p0 FOR VALUES FROM ('0') TO ('10');


--
-- Name: log_1_p1; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ATTACH PARTITION tidemark.log_1_p1 FOR VALUES FROM ('10') TO ('20');


--
-- Name: log_1_p2; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ATTACH PARTITION tidemark.log_1_p2 FOR VALUES FROM ('20') TO ('30');


--
-- Name: log_1_p3; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ATTACH PARTITION tidemark.log_1_p3 FOR VALUES FROM ('30') TO ('40');


--
-- Name: log_1_p4; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ATTACH PARTITION tidemark.log_1_p4 FOR VALUES FROM ('40') TO ('50');


--
-- Name: log_1_p5; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ATTACH PARTITION tidemark.log_1_p5 FOR VALUES FROM ('50') TO ('60');


--
-- Name: log_2_p0; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_2 ATTACH PARTITION tidemark.log_2_p0 FOR VALUES FROM ('0') TO ('10');


--
-- Name: log_2_p1; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_2 ATTACH PARTITION tidemark.log_2_p1 FOR VALUES FROM ('10') TO ('20');


--
-- Name: log_2_p2; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_2 ATTACH PARTITION tidemark.log_2_p2 FOR VALUES FROM ('20') TO ('30');


--
-- Name: log_3_p0; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_3 ATTACH PARTITION tidemark.log_3_p0 FOR VALUES FROM ('0') TO ('1000000');


--
-- Name: log_3_p1; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_3 ATTACH PARTITION tidemark.log_3_p1 FOR VALUES FROM ('1000000') TO ('2000000');


--
-- Name: track_2_p0; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2 ATTACH PARTITION tidemark.track_2_p0 FOR VALUES FROM ('0') TO ('10');


--
-- Name: track_2_p1; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2 ATTACH PARTITION tidemark.track_2_p1 FOR VALUES FROM ('10') TO ('20');


--
-- Name: track_2_p2; Type: TABLE ATTACH; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2 ATTACH PARTITION tidemark.track_2_p2 FOR VALUES FROM ('20') TO ('30');


--
-- Name: log_1 id; Type: DEFAULT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_1 ALTER COLUMN id SET DEFAULT nextval('tidemark.log_1_id'::regclass);


--
-- Name: log_2 id; Type: DEFAULT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_2 ALTER COLUMN id SET DEFAULT nextval('tidemark.log_2_id'::regclass);


--
-- Name: log_3 id; Type: DEFAULT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.log_3 ALTER COLUMN id SET DEFAULT nextval('tidemark.log_3_id'::regclass);


--
-- Data for Name: backfill; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.backfill VALUES
	(5, 2, 1, 'COMPLETED', 'retained', '{"again": false, "targetMs": 10, "batchSize": 10000, "maxPerSecond": 50000}', '1:1:', '1:1:', 0, NULL, '771:772:', 0, 0, 0, 0, 0, NULL, NULL, '2026-11-18 07:45:34.300289+00', '2026-11-18 07:45:34.300289+00', '2026-11-18 07:45:34.300289+00', NULL),
	(6, 2, 1, 'COMPLETED', 'retained', '{"again": false, "targetMs": 10, "batchSize": 10000, "maxPerSecond": 50000}', '1:1:', '1:1:', 0, NULL, '794:795:', 0, 12, 12, 0, 12, NULL, NULL, '2026-11-18 07:45:34.332793+00', '2026-11-18 07:45:34.338806+00', '2026-11-18 07:45:34.338807+00', NULL);


--
-- Data for Name: bit_wipe; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: cluster; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.cluster VALUES
	(true, '7709414470526040921', '2026-11-18 07:45:34.191046+00');


--
-- Data for Name: consumer; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: dead_letter; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.dead_letter OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 4, 'email', 29, 2616868787898729, '2026-11-18 07:45:34.250711+00', NULL, NULL, NULL, NULL, '\x3130', 2, 2, '{"name": "Error", "message": "refused twice"}', '[{"at": 1794987934278, "name": "Error", "attempt": 1, "message": "refused once"}, {"at": 1794987934282, "name": "Error", "attempt": 2, "message": "refused twice"}]', '2026-11-18 07:45:34.282861+00');


--
-- Data for Name: dedupe; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.dedupe VALUES
	(1, 'first', 1, '2026-11-18 07:45:34.232365+00');


--
-- Data for Name: done_range; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: function_bundle; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.function_bundle VALUES
	('bde8c07c7b', '2026-11-18 07:45:34.187524+00', '2026-11-18 07:45:34.187525+00');


--
-- Data for Name: job; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: lease; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.lease VALUES
	('ed5140b7-0ef3-4410-b3e1-89a45d6a7dba', 4, 'reader-11114-4', 'retry', 1, NULL, NULL, NULL, NULL, B'0', '2026-11-18 07:45:35.279704+00', '2026-11-18 07:45:34.280993+00', '2026-11-18 07:45:34.283176+00', NULL),
	('917c7d89-e31f-47f0-8b49-3180778de6ab', 4, 'reader-11114-4', 'page', 1, '1:1:', '746:747:', 28, 28, B'0', '2026-11-18 07:45:35.268265+00', '2026-11-18 07:45:34.26847+00', '2026-11-18 07:45:34.284535+00', NULL),
	('adc557f0-c53f-41db-9a9e-f48e53da6b0d', 5, 'reader-11114-5', 'page', 1, '771:772:', '775:777:775', 1, 1, NULL, '2026-11-18 07:45:35.309879+00', '2026-11-18 07:45:34.311564+00', '2026-11-18 07:45:34.32035+00', NULL),
	('3377416c-8020-49e1-86ac-9cbc6162db36', 5, 'reader-11114-5', 'page', 1, '771:772:', '775:777:775', 2, 2, NULL, '2026-11-18 07:45:35.313219+00', '2026-11-18 07:45:34.313699+00', '2026-11-18 07:45:34.322993+00', NULL),
	('95cd32d9-653f-4a73-9c57-7ece26f5c33f', 5, 'reader-11114-5', 'page', 1, '771:772:', '775:777:775', 3, 3, NULL, '2026-11-18 07:45:35.314293+00', '2026-11-18 07:45:34.314632+00', '2026-11-18 07:45:34.324127+00', NULL),
	('7fe90c4c-524c-4067-a3c9-9b79989a886e', 5, 'reader-11114-5', 'page', 1, '771:772:', '775:777:775', 4, 4, NULL, '2026-11-18 07:45:35.316057+00', '2026-11-18 07:45:34.316502+00', '2026-11-18 07:45:34.325343+00', NULL),
	('c5ee86d3-4ad9-4eee-ae61-ec96cbe0c495', 5, 'reader-11114-5', 'page', 1, '771:772:', '775:777:775', 5, 5, NULL, '2026-11-18 07:45:35.317637+00', '2026-11-18 07:45:34.317979+00', '2026-11-18 07:45:34.326452+00', NULL),
	('82886da7-09e8-4e46-965d-5f663755657b', 5, 'reader-11114-5', 'page', 1, '771:772:', '775:777:775', 6, 6, NULL, '2026-11-18 07:45:35.319006+00', '2026-11-18 07:45:34.319382+00', '2026-11-18 07:45:34.327476+00', NULL),
	('baf14426-a239-4b92-abe6-20710dc23629', 7, 'reader-11114-7', 'page', 1, '1:1:', '803:804:', 1, 1, NULL, '2026-11-18 07:45:35.354902+00', '2026-11-18 07:45:34.35556+00', '2026-11-18 07:45:34.357363+00', NULL),
	('52a80963-b966-46ca-9c68-4756bd3f74d4', 7, 'reader-11114-7', 'page', 1, '1:1:', '803:804:', 2, 2, NULL, '2026-11-18 07:45:35.356395+00', '2026-11-18 07:45:34.356688+00', '2026-11-18 07:45:34.358449+00', NULL);


--
-- Data for Name: log_1_p0; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.log_1_p0 VALUES
	('739', 1, '2026-11-18 07:45:34.232365+00', 2701392976070140, 'customer-1', NULL, '{"trace":"abc"}', 'first', '\x31');


--
-- Data for Name: log_1_p1; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: log_1_p2; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.log_1_p2 VALUES
	('743', 21, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x32'),
	('743', 22, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x33'),
	('743', 23, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x34'),
	('743', 24, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x35'),
	('743', 25, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x36'),
	('743', 26, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x37'),
	('743', 27, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x38'),
	('743', 28, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x39'),
	('743', 29, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3130');


--
-- Data for Name: log_1_p3; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.log_1_p3 VALUES
	('743', 30, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3131'),
	('743', 31, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3132'),
	('743', 32, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3133'),
	('743', 33, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3134'),
	('743', 34, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3135'),
	('743', 35, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3136'),
	('743', 36, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3137'),
	('743', 37, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3138'),
	('743', 38, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3139'),
	('743', 39, '2026-11-18 07:45:34.250711+00', 2616868787898729, NULL, NULL, NULL, NULL, '\x3230');


--
-- Data for Name: log_1_p4; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: log_1_p5; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: log_2_p0; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.log_2_p0 VALUES
	('773', 1, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x31'),
	('773', 2, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x32'),
	('773', 3, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x33'),
	('773', 4, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x34'),
	('773', 5, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x35'),
	('773', 6, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x36'),
	('773', 7, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x37'),
	('773', 8, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x38'),
	('773', 9, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x39');


--
-- Data for Name: log_2_p1; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.log_2_p1 VALUES
	('773', 10, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x3130'),
	('773', 11, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x3131'),
	('773', 12, '2026-11-18 07:45:34.303888+00', 1221691774415574, NULL, NULL, NULL, NULL, '\x3132');


--
-- Data for Name: log_2_p2; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: log_3_p0; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.log_3_p0 VALUES
	('801', 1, '2026-11-18 07:45:34.346712+00', 682376729122228, NULL, NULL, NULL, NULL, '\x31'),
	('801', 2, '2026-11-18 07:45:34.346712+00', 682376729122228, NULL, NULL, NULL, NULL, '\x32'),
	('801', 3, '2026-11-18 07:45:34.346712+00', 682376729122228, NULL, NULL, NULL, NULL, '\x33'),
	('801', 4, '2026-11-18 07:45:34.346712+00', 682376729122228, NULL, NULL, NULL, NULL, '\x34'),
	('801', 5, '2026-11-18 07:45:34.346712+00', 682376729122228, NULL, NULL, NULL, NULL, '\x35');


--
-- Data for Name: log_3_p1; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: migration; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.migration VALUES
	(1, 'ee3e02d66e5a68be', '2026-11-18 07:45:34.182548+00');


--
-- Data for Name: namespace; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.namespace VALUES
	(true, 917577927558202, '\x03ce4c528ddd78dac0b75b30a1994992a411a3773a49b28f4c1fafe6d57864d7', '2026-11-18 07:45:34.163019+00');


--
-- Data for Name: partition; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Data for Name: retry; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.retry VALUES
	(4, 28, '743', 1, 1, '2026-11-18 07:45:34.284313+00', NULL, NULL, false, NULL, '[{"at": 1794987934284, "name": "Error", "attempt": 1, "message": "to be tried again"}]');


--
-- Data for Name: subscription; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.subscription OVERRIDING SYSTEM VALUE VALUES
	(1, 1417883545864707, 1, 'audit', 'ACTIVE', 1, '1:1:', '729:730:', '{}', '{}', 0, 0, 0, 0, 0, NULL, '1:1:', '729:730:', 0, NULL, '730', '2026-11-18 07:45:34.210125+00', '2026-11-18 07:45:34.210126+00', '2026-11-18 07:45:34.210126+00', 0, '2026-11-18 07:45:34.211455+00', 60000, 300000, 3, 0, NULL, NULL, false, 0, 0, NULL, 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0),
	(5, 3735173291040941, 2, 'a', 'ACTIVE', 1, '771:772:', '775:777:775', '{}', '{0}', 0, 12, 0, 12, 6, NULL, '1:1:', '771:772:', 0, 0, '772', '2026-11-18 07:45:34.29894+00', '2026-11-18 07:45:34.29894+00', '2026-11-18 07:45:34.319448+00', 6, '2026-11-18 07:45:34.301667+00', 60000, 300000, 3, 0, NULL, NULL, false, 0, 0, NULL, 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0),
	(4, 1632670509110480, 1, 'email', 'ACTIVE', 1, '1:1:', '746:747:', '{}', '{}', 0, 39, 0, 39, 29, NULL, '1:1:', '746:747:', 0, NULL, '747', '2026-11-18 07:45:34.255421+00', '2026-11-18 07:45:34.255422+00', '2026-11-18 07:45:34.269684+00', 10, '2026-11-18 07:45:34.256211+00', 60000, 300000, 3, 0, NULL, NULL, false, 0, 0, NULL, 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0),
	(2, 700143241446200, 1, 'paused', 'PAUSED', 1, '1:1:', '731:732:', '{}', '{}', 0, 0, 0, 0, 0, NULL, '1:1:', '731:732:', 0, NULL, '732', '2026-11-18 07:45:34.215226+00', '2026-11-18 07:45:34.22266+00', '2026-11-18 07:45:34.215226+00', 0, '2026-11-18 07:45:34.216218+00', 60000, 300000, 3, 0, NULL, NULL, false, 0, 0, NULL, 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0),
	(3, 1636721882388527, 1, 'cancelled', 'CANCELLED', 1, '1:1:', '733:734:', '{}', '{}', 0, 0, 0, 0, 0, NULL, '1:1:', '733:734:', 0, NULL, '734', '2026-11-18 07:45:34.218931+00', '2026-11-18 07:45:34.229944+00', '2026-11-18 07:45:34.218931+00', 0, '2026-11-18 07:45:34.219787+00', 60000, 300000, 3, 0, NULL, NULL, false, 0, 0, '737', 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0),
	(6, 3473166295517012, 2, 'late', 'ACTIVE', 1, '794:795:', '794:795:', '{}', '{}', 12, 12, 12, 12, 0, NULL, '1:1:', '794:795:', 0, 1, '795', '2026-11-18 07:45:34.331078+00', '2026-11-18 07:45:34.331078+00', '2026-11-18 07:45:34.332966+00', 0, '2026-11-18 07:45:34.333953+00', 60000, 300000, 3, 0, NULL, NULL, true, 0, 0, NULL, 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0),
	(7, 3885946032843874, 3, '', 'ACTIVE', 1, '1:1:', '803:804:', '{}', '{}', 0, 5, 0, 5, 2, NULL, '1:1:', '803:804:', 0, NULL, '804', '2026-11-18 07:45:34.350655+00', '2026-11-18 07:45:34.350656+00', '2026-11-18 07:45:34.356736+00', 2, '2026-11-18 07:45:34.352102+00', 60000, 300000, 3, 0, NULL, NULL, false, 0, 0, NULL, 0, 0, 0, 29916465, 0, 0, 0, NULL, 0, 0);


--
-- Data for Name: topic; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.topic OVERRIDING SYSTEM VALUE VALUES
	(1, 'orders', 4239236307395869, 'pub-sub', '{"given": [], "backoff": {"maxMs": 0, "factor": 2, "initialMs": 0}, "leaseMs": 1000, "tracking": "offset", "semantics": "pub-sub", "maxAttempts": 2, "retentionMs": null, "zombieTtlMs": 604800000, "partitionRows": 10, "advanceZombies": false, "dedupeWindowMs": null, "maxRetentionMs": null, "maxMessageBytes": 1048576, "zeroSubscriptionRetentionMs": null, "blockPublishWithoutSubscription": false}', 1, '2026-11-18 07:45:34.200785+00', 0, 0, NULL, NULL, NULL),
	(2, 'tracked', 2163223829194468, 'pub-sub', '{"given": [], "backoff": {"maxMs": 60000, "factor": 2, "initialMs": 1000}, "leaseMs": 1000, "tracking": "reference", "semantics": "pub-sub", "maxAttempts": 5, "retentionMs": 86400000, "zombieTtlMs": 604800000, "partitionRows": 10, "advanceZombies": false, "dedupeWindowMs": 604800000, "maxRetentionMs": 2592000000, "maxMessageBytes": 1048576, "zeroSubscriptionRetentionMs": 86400000, "blockPublishWithoutSubscription": false}', 1, '2026-11-18 07:45:34.28909+00', 0, 0, NULL, NULL, NULL),
	(3, 'work', 2388409726170265, 'queue', '{"given": [], "backoff": {"maxMs": 60000, "factor": 2, "initialMs": 1000}, "leaseMs": 1000, "tracking": "offset", "semantics": "queue", "maxAttempts": 5, "retentionMs": 86400000, "zombieTtlMs": 604800000, "partitionRows": 1000000, "advanceZombies": false, "dedupeWindowMs": 604800000, "maxRetentionMs": 2592000000, "maxMessageBytes": 1048576, "zeroSubscriptionRetentionMs": 86400000, "blockPublishWithoutSubscription": false}', 1, '2026-11-18 07:45:34.340444+00', 0, 0, NULL, NULL, NULL);


--
-- Data for Name: track_2_p0; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.track_2_p0 VALUES
	(1, '773', 3, 1),
	(2, '773', 3, 1),
	(3, '773', 3, 1),
	(4, '773', 3, 1),
	(5, '773', 3, 1),
	(6, '773', 3, 1),
	(7, '773', 3, 0),
	(8, '773', 3, 0),
	(9, '773', 3, 0);


--
-- Data for Name: track_2_p1; Type: TABLE DATA; Schema: tidemark; Owner: -
--

INSERT INTO tidemark.track_2_p1 VALUES
	(10, '773', 3, 0),
	(11, '773', 3, 0),
	(12, '773', 3, 0);


--
-- Data for Name: track_2_p2; Type: TABLE DATA; Schema: tidemark; Owner: -
--



--
-- Name: dead_letter_id_seq; Type: SEQUENCE SET; Schema: tidemark; Owner: -
--

SELECT pg_catalog.setval('tidemark.dead_letter_id_seq', 1, true);


--
-- Name: log_1_id; Type: SEQUENCE SET; Schema: tidemark; Owner: -
--

SELECT pg_catalog.setval('tidemark.log_1_id', 39, true);


--
-- Name: log_2_id; Type: SEQUENCE SET; Schema: tidemark; Owner: -
--

SELECT pg_catalog.setval('tidemark.log_2_id', 12, true);


--
-- Name: log_3_id; Type: SEQUENCE SET; Schema: tidemark; Owner: -
--

SELECT pg_catalog.setval('tidemark.log_3_id', 5, true);


--
-- Name: subscription_id_seq; Type: SEQUENCE SET; Schema: tidemark; Owner: -
--

SELECT pg_catalog.setval('tidemark.subscription_id_seq', 7, true);


--
-- Name: topic_id_seq; Type: SEQUENCE SET; Schema: tidemark; Owner: -
--

SELECT pg_catalog.setval('tidemark.topic_id_seq', 3, true);


--
-- Name: backfill backfill_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.backfill
    ADD CONSTRAINT backfill_pkey PRIMARY KEY (subscription_id);


--
-- Name: bit_wipe bit_wipe_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.bit_wipe
    ADD CONSTRAINT bit_wipe_pkey PRIMARY KEY (topic_id, "bit");


--
-- Name: cluster cluster_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.cluster
    ADD CONSTRAINT cluster_pkey PRIMARY KEY (only_row);


--
-- Name: consumer consumer_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.consumer
    ADD CONSTRAINT consumer_pkey PRIMARY KEY (subscription_id, instance, consumer);


--
-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);


--
-- Name: dedupe dedupe_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.dedupe
    ADD CONSTRAINT dedupe_pkey PRIMARY KEY (topic_id, message_id);


--
-- Name: done_range done_range_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.done_range
    ADD CONSTRAINT done_range_pkey PRIMARY KEY (subscription_id, last_id, first_id);


--
-- Name: function_bundle function_bundle_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.function_bundle
    ADD CONSTRAINT function_bundle_pkey PRIMARY KEY (hash);


--
-- Name: job job_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (name);


--
-- Name: lease lease_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (token);


--
-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);


--
-- Name: namespace namespace_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.namespace
    ADD CONSTRAINT namespace_pkey PRIMARY KEY (only_row);


--
-- Name: partition partition_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.partition
    ADD CONSTRAINT partition_pkey PRIMARY KEY (topic_id, number);


--
-- Name: retry retry_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.retry
    ADD CONSTRAINT retry_pkey PRIMARY KEY (subscription_id, id);


--
-- Name: subscription subscription_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.subscription
    ADD CONSTRAINT subscription_pkey PRIMARY KEY (id);


--
-- Name: subscription subscription_topic_id_bit_key; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.subscription
    ADD CONSTRAINT subscription_topic_id_bit_key UNIQUE (topic_id, "bit");


--
-- Name: subscription subscription_topic_id_group_name_key; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.subscription
    ADD CONSTRAINT subscription_topic_id_group_name_key UNIQUE (topic_id, group_name);


--
-- Name: topic topic_name_key; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.topic
    ADD CONSTRAINT topic_name_key UNIQUE (name);


--
-- Name: topic topic_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.topic
    ADD CONSTRAINT topic_pkey PRIMARY KEY (id);


--
-- Name: track_2 track_2_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2
    ADD CONSTRAINT track_2_pkey PRIMARY KEY (id);


--
-- Name: track_2_p0 track_2_p0_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2_p0
    ADD CONSTRAINT track_2_p0_pkey PRIMARY KEY (id);


--
-- Name: track_2_p1 track_2_p1_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2_p1
    ADD CONSTRAINT track_2_p1_pkey PRIMARY KEY (id);


--
-- Name: track_2_p2 track_2_p2_pkey; Type: CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.track_2_p2
    ADD CONSTRAINT track_2_p2_pkey PRIMARY KEY (id);


--
-- Name: dead_letter_group; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX dead_letter_group ON tidemark.dead_letter USING btree (topic_id, group_name, id);


--
-- Name: dead_letter_topic; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX dead_letter_topic ON tidemark.dead_letter USING btree (topic_id, id);


--
-- Name: dedupe_age; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX dedupe_age ON tidemark.dedupe USING btree (topic_id, created_at);


--
-- Name: lease_ended; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX lease_ended ON tidemark.lease USING btree (subscription_id, GREATEST(done_at, expired_at)) WHERE ((done_at IS NOT NULL) OR (expired_at IS NOT NULL));


--
-- Name: lease_live; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX lease_live ON tidemark.lease USING btree (subscription_id, deadline) WHERE ((done_at IS NULL) AND (expired_at IS NULL));


--
-- Name: log_1_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_created_at_idx ON ONLY tidemark.log_1 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_id_xid_idx ON ONLY tidemark.log_1 USING btree (id, xid);


--
-- Name: log_1_p0_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p0_created_at_idx ON tidemark.log_1_p0 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_p0_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p0_id_xid_idx ON tidemark.log_1_p0 USING btree (id, xid);


--
-- Name: log_1_p1_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p1_created_at_idx ON tidemark.log_1_p1 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_p1_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p1_id_xid_idx ON tidemark.log_1_p1 USING btree (id, xid);


--
-- Name: log_1_p2_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p2_created_at_idx ON tidemark.log_1_p2 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_p2_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p2_id_xid_idx ON tidemark.log_1_p2 USING btree (id, xid);


--
-- Name: log_1_p3_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p3_created_at_idx ON tidemark.log_1_p3 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_p3_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p3_id_xid_idx ON tidemark.log_1_p3 USING btree (id, xid);


--
-- Name: log_1_p4_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p4_created_at_idx ON tidemark.log_1_p4 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_p4_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p4_id_xid_idx ON tidemark.log_1_p4 USING btree (id, xid);


--
-- Name: log_1_p5_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p5_created_at_idx ON tidemark.log_1_p5 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_1_p5_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_1_p5_id_xid_idx ON tidemark.log_1_p5 USING btree (id, xid);


--
-- Name: log_2_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_created_at_idx ON ONLY tidemark.log_2 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_2_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_id_xid_idx ON ONLY tidemark.log_2 USING btree (id, xid);


--
-- Name: log_2_p0_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_p0_created_at_idx ON tidemark.log_2_p0 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_2_p0_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_p0_id_xid_idx ON tidemark.log_2_p0 USING btree (id, xid);


--
-- Name: log_2_p1_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_p1_created_at_idx ON tidemark.log_2_p1 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_2_p1_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_p1_id_xid_idx ON tidemark.log_2_p1 USING btree (id, xid);


--
-- Name: log_2_p2_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_p2_created_at_idx ON tidemark.log_2_p2 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_2_p2_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_2_p2_id_xid_idx ON tidemark.log_2_p2 USING btree (id, xid);


--
-- Name: log_3_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_3_created_at_idx ON ONLY tidemark.log_3 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_3_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_3_id_xid_idx ON ONLY tidemark.log_3 USING btree (id, xid);


--
-- Name: log_3_p0_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_3_p0_created_at_idx ON tidemark.log_3_p0 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_3_p0_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_3_p0_id_xid_idx ON tidemark.log_3_p0 USING btree (id, xid);


--
-- Name: log_3_p1_created_at_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_3_p1_created_at_idx ON tidemark.log_3_p1 USING brin (created_at) WITH (pages_per_range='16');


--
-- Name: log_3_p1_id_xid_idx; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX log_3_p1_id_xid_idx ON tidemark.log_3_p1 USING btree (id, xid);


--
-- Name: retry_alone; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX retry_alone ON tidemark.retry USING btree (subscription_id, due_at, id) WHERE ((token IS NULL) AND suspect AND (piece IS NULL));


--
-- Name: retry_due; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX retry_due ON tidemark.retry USING btree (subscription_id, suspect, due_at, id) WHERE (token IS NULL);


--
-- Name: retry_leased; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX retry_leased ON tidemark.retry USING btree (token, slot) WHERE (token IS NOT NULL);


--
-- Name: retry_piece; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX retry_piece ON tidemark.retry USING btree (piece, id) WHERE ((token IS NULL) AND (piece IS NOT NULL));


--
-- Name: retry_suspect; Type: INDEX; Schema: tidemark; Owner: -
--

CREATE INDEX retry_suspect ON tidemark.retry USING btree (subscription_id, due_at, id) WHERE ((token IS NULL) AND (piece IS NOT NULL));


--
-- Name: log_1_p0_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_created_at_idx ATTACH PARTITION tidemark.log_1_p0_created_at_idx;


--
-- Name: log_1_p0_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_id_xid_idx ATTACH PARTITION tidemark.log_1_p0_id_xid_idx;


--
-- Name: log_1_p1_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_created_at_idx ATTACH PARTITION tidemark.log_1_p1_created_at_idx;


--
-- Name: log_1_p1_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_id_xid_idx ATTACH PARTITION tidemark.log_1_p1_id_xid_idx;


--
-- Name: log_1_p2_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_created_at_idx ATTACH PARTITION tidemark.log_1_p2_created_at_idx;


--
-- Name: log_1_p2_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_id_xid_idx ATTACH PARTITION tidemark.log_1_p2_id_xid_idx;


--
-- Name: log_1_p3_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_created_at_idx ATTACH PARTITION tidemark.log_1_p3_created_at_idx;


--
-- Name: log_1_p3_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_id_xid_idx ATTACH PARTITION tidemark.log_1_p3_id_xid_idx;


--
-- Name: log_1_p4_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_created_at_idx ATTACH PARTITION tidemark.log_1_p4_created_at_idx;


--
-- Name: log_1_p4_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_id_xid_idx ATTACH PARTITION tidemark.log_1_p4_id_xid_idx;


--
-- Name: log_1_p5_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_created_at_idx ATTACH PARTITION tidemark.log_1_p5_created_at_idx;


--
-- Name: log_1_p5_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_1_id_xid_idx ATTACH PARTITION tidemark.log_1_p5_id_xid_idx;


--
-- Name: log_2_p0_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_2_created_at_idx ATTACH PARTITION tidemark.log_2_p0_created_at_idx;


--
-- Name: log_2_p0_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_2_id_xid_idx ATTACH PARTITION tidemark.log_2_p0_id_xid_idx;


--
-- Name: log_2_p1_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_2_created_at_idx ATTACH PARTITION tidemark.log_2_p1_created_at_idx;


--
-- Name: log_2_p1_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_2_id_xid_idx ATTACH PARTITION tidemark.log_2_p1_id_xid_idx;


--
-- Name: log_2_p2_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_2_created_at_idx ATTACH PARTITION tidemark.log_2_p2_created_at_idx;


--
-- Name: log_2_p2_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_2_id_xid_idx ATTACH PARTITION tidemark.log_2_p2_id_xid_idx;


--
-- Name: log_3_p0_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_3_created_at_idx ATTACH PARTITION tidemark.log_3_p0_created_at_idx;


--
-- Name: log_3_p0_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_3_id_xid_idx ATTACH PARTITION tidemark.log_3_p0_id_xid_idx;


--
-- Name: log_3_p1_created_at_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_3_created_at_idx ATTACH PARTITION tidemark.log_3_p1_created_at_idx;


--
-- Name: log_3_p1_id_xid_idx; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.log_3_id_xid_idx ATTACH PARTITION tidemark.log_3_p1_id_xid_idx;


--
-- Name: track_2_p0_pkey; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.track_2_pkey ATTACH PARTITION tidemark.track_2_p0_pkey;


--
-- Name: track_2_p1_pkey; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.track_2_pkey ATTACH PARTITION tidemark.track_2_p1_pkey;


--
-- Name: track_2_p2_pkey; Type: INDEX ATTACH; Schema: tidemark; Owner: -
--

ALTER INDEX tidemark.track_2_pkey ATTACH PARTITION tidemark.track_2_p2_pkey;


--
-- Name: backfill backfill_subscription_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.backfill
    ADD CONSTRAINT backfill_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES tidemark.subscription(id) ON DELETE CASCADE;


--
-- Name: backfill backfill_topic_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.backfill
    ADD CONSTRAINT backfill_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES tidemark.topic(id) ON DELETE CASCADE;


--
-- Name: bit_wipe bit_wipe_topic_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.bit_wipe
    ADD CONSTRAINT bit_wipe_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES tidemark.topic(id) ON DELETE CASCADE;


--
-- Name: consumer consumer_subscription_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.consumer
    ADD CONSTRAINT consumer_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES tidemark.subscription(id) ON DELETE CASCADE;


--
-- Name: dead_letter dead_letter_topic_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.dead_letter
    ADD CONSTRAINT dead_letter_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES tidemark.topic(id) ON DELETE CASCADE;


--
-- Name: dedupe dedupe_topic_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.dedupe
    ADD CONSTRAINT dedupe_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES tidemark.topic(id) ON DELETE CASCADE;


--
-- Name: done_range done_range_subscription_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.done_range
    ADD CONSTRAINT done_range_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES tidemark.subscription(id) ON DELETE CASCADE;


--
-- Name: partition partition_topic_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.partition
    ADD CONSTRAINT partition_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES tidemark.topic(id) ON DELETE CASCADE;


--
-- Name: subscription subscription_topic_id_fkey; Type: FK CONSTRAINT; Schema: tidemark; Owner: -
--

ALTER TABLE ONLY tidemark.subscription
    ADD CONSTRAINT subscription_topic_id_fkey FOREIGN KEY (topic_id) REFERENCES tidemark.topic(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


