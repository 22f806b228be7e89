import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

type Program = typeof import('tidemark')

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The program as it is, but for a comment in one function: another version with the same tables. */
export function otherVersion(folder: string): Promise<Program> {
  copyProgram(folder)
  appendFileSync(join(folder, 'src/stores/postgres/functions/claim.sql'), '\n-- as it will be\n')
  return load(folder)
}

const NEXT = {
  postgres: `
    alter table tidemark.subscription add column label text not null default 'none';
    alter table tidemark.lease add column note text;
    create table tidemark.label (name text primary key, topic_id int not null references tidemark.topic on delete cascade);
    insert into tidemark.label select name, id from tidemark.topic;`,
  sqlite: `
    alter table tidemark_subscription add column label text not null default 'none';
    alter table tidemark_lease add column note text;
    create table tidemark_label (name text primary key, topic_id integer not null references tidemark_topic on delete cascade);
    insert into tidemark_label select name, id from tidemark_topic;`,
}

/** The program with one more migration. */
export function nextVersion(folder: string): Promise<Program> {
  copyProgram(folder)
  const stores = join(folder, 'src/stores')
  for (const [engine, sql] of Object.entries(NEXT)) writeFileSync(join(stores, engine, 'schema/003_next.sql'), sql)
  const list = join(stores, 'postgres/upgrade-sql.ts')
  writeFileSync(list, readFileSync(list, 'utf8').replace(/('\w+\.sql')\]/, "$1, '003_next.sql']"))
  return load(folder)
}

function copyProgram(folder: string): void {
  for (const part of ['src', 'package.json']) cpSync(at(`../../${part}`), join(folder, part), { recursive: true })
  symlinkSync(at('../../../../node_modules'), join(folder, 'node_modules'))
}

const load = (folder: string): Promise<Program> => import(pathToFileURL(join(folder, 'src/index.ts')).href)
