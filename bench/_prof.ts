import { open } from 'tidemark'
import { consumeAll } from './topics/consume-all.ts'
import { fillTopic, PAGE } from './topics/log-filling.ts'
import { openPostgresEngine } from './topics/engines/postgres.ts'
import { openSqliteEngine } from './topics/engines/sqlite.ts'
import { orders } from './topics/payloads.ts'
import { Session } from 'node:inspector/promises'
import { writeFileSync } from 'node:fs'
const [what='', eng='', groups='1', shared=''] = process.argv.slice(2)
await using engine = eng === 'sqlite' ? openSqliteEngine() : await openPostgresEngine()
await using tm = await open(engine.url)
const N = 200_000
await fillTopic(tm, 't', N)
const G = Number(groups)
const work = what === 'drain'
  ? async () => { const r = await consumeAll(tm, { topic: 't', messages: N, groups: G, batchSize: PAGE, sharedPayloads: shared === 'shared' }); return r }
  : async () => { const p = orders(1000); const s = performance.now(); for (let i=0;i<200;i++) await tm.publishBatch('t2', p); return 200000/(performance.now()-s)*1000 }
console.log('warm', await work())
const s = new Session(); s.connect(); await s.post('Profiler.enable'); await s.post('Profiler.setSamplingInterval',{interval:200}); await s.post('Profiler.start')
for (let i=0;i<(G>4?1:4);i++) console.log('rate', Math.round(await work()))
const { profile } = await s.post('Profiler.stop')
const self = new Map<string, number>(); let total=0
const byId = new Map(profile.nodes.map(n=>[n.id,n]))
profile.samples!.forEach((id,i)=>{ const d=profile.timeDeltas![i]!; const n=byId.get(id)!; const f=n.callFrame; const k=`${f.functionName||'(anon)'} ${f.url.split('/').slice(-2).join('/')}:${f.lineNumber+1}`; self.set(k,(self.get(k)??0)+d); total+=d })
for (const [k,v] of [...self].sort((a,b)=>b[1]-a[1]).slice(0,26)) console.log((v/total*100).toFixed(1).padStart(5)+'%', k)
writeFileSync(`/tmp/prof/${what}-${eng}-${groups}${shared}.cpuprofile`, JSON.stringify(profile))
