import { open } from 'tidemark'
import { consumeAll } from './topics/consume-all.ts'
import { fillTopic, PAGE } from './topics/log-filling.ts'
import { openPostgresEngine, connect } from './topics/engines/postgres.ts'
await using engine = await openPostgresEngine()
const c = await connect(engine.url)
await c.query(`alter system set session_preload_libraries='auto_explain'`)
for (const s of [`log_min_duration=5`,'log_analyze=on','log_nested_statements=on','log_timing=on','log_buffers=on']) await c.query(`alter system set auto_explain.${s.replace('=', "='")}'`).catch(e=>console.log(String(e)))
await c.query('select pg_reload_conf()')
await using tm = await open(engine.url)
await fillTopic(tm, 't', 200_000)
for (let i=0;i<3;i++) { console.log('rate', Math.round(await consumeAll(tm, { topic: 't', messages: 200_000, groups: 1, batchSize: PAGE })));
const m = tm.metrics(); console.log(m.latency.claim, m.latency.settle) }
await c.query('analyze'); 
console.log('after analyze', Math.round(await consumeAll(tm, { topic: 't', messages: 200_000, groups: 1, batchSize: PAGE })))
await c.query('vacuum analyze'); 
console.log('after vacuum', Math.round(await consumeAll(tm, { topic: 't', messages: 200_000, groups: 1, batchSize: PAGE })))
const {rows} = await c.query(`select setting from pg_settings where name='data_directory'`)
const { execFileSync } = await import('node:child_process')
execFileSync('cp', [rows[0].setting + '/../server.log', '/tmp/prof/server.log'])
console.log((await c.query(`select relname, n_live_tup, n_dead_tup, last_autoanalyze, last_autovacuum from pg_stat_user_tables`)).rows)
await c.end()
