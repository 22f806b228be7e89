/**
 * wrong-clock.ts <url> <milliseconds ahead> <what to do>: a process whose wall clock is wrong. Prints one JSON line, what
 * came of it, and stays where it was told to until its standard input ends.
 */
const [url = '', ahead = '0', what = ''] = process.argv.slice(2)

const { now } = Date
Date.now = () => now() + Number(ahead)

const { open } = await import('tidemark')
const { SILENT } = await import('../../conformance/stores.ts')

const tm = await open(url, { logger: SILENT, maintenance: false })
const warnings: string[] = []
tm.on('clock-off', ({ offsetMs }) => warnings.push(`off by ${Math.round(offsetMs / 3_600_000)} h`))

const VERBS: Record<string, () => Promise<unknown>> = {
  async clean() {
    const jobs = [tm.admin.jobs.messages, tm.admin.jobs['dead-groups'], tm.admin.jobs.subscriptions]
    const outcomes = await Promise.allSettled(jobs.map(job => job.runOnce()))
    const { healthy, clock } = await tm.admin.health()
    const codes = outcomes.map(each => (each.status === 'rejected' ? each.reason.code : 'ran'))
    return { codes, healthy, ok: clock?.ok, hours: Math.round((clock?.offsetMs ?? 0) / 3_600_000), warnings }
  },
  async publish() {
    await tm.publishBatch('work', [1, 2, 3])
    return {}
  },
  async claim() {
    const delivery = await tm.reader('work', { group: 'g' }).receive()
    return { payload: delivery.payload, at: delivery.createdAt.getTime() }
  },
  async fail() {
    const delivery = await tm.reader('work', { group: 'g' }).receive()
    await delivery.nack('later', { delay: '200ms' })
    return {}
  },
}

console.log(JSON.stringify(await VERBS[what]?.()))
if (what === 'claim') process.kill(process.pid, 'SIGKILL')
await tm.close()
