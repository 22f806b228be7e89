/** Runs every maintenance job, over and over, and tells what each run did; another process's turn is passed over. */
import { setTimeout as delay } from 'node:timers/promises'
import { JobBusyError, open } from '../../index.ts'

const { url } = JSON.parse(process.argv[2] ?? '') as { url: string }
const tm = await open(url, { maintenance: false })
let stopping = false
process.on('message', () => {
  stopping = true
})

const jobs = Object.entries(tm.admin.jobs)
while (!stopping) {
  for (const [job, { runOnce }] of jobs) {
    try {
      process.send?.({ job, result: await runOnce() })
    } catch (error) {
      if (!(error instanceof JobBusyError)) throw error
      process.send?.({ job, busy: true })
    }
  }
  // Ten that never pause leave the one that has the work no processor to do it on.
  await delay(20)
}
await tm.close()
process.disconnect()
