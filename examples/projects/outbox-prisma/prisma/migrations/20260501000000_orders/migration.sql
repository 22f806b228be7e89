create table "Order" (
  "id" integer primary key,
  "total" integer not null
);
