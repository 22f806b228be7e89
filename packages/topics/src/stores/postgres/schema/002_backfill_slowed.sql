-- Whether the process that runs a backfill has slowed it down for live traffic.
alter table tidemark.backfill add column slowed boolean not null default false;
