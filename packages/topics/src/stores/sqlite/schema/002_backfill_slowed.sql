-- Whether the process that runs a backfill has slowed it down for live traffic.
alter table tidemark_backfill add column slowed integer not null default 0;
