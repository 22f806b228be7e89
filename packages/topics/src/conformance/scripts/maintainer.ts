/** Runs every maintenance job in a loop and reports the result of each run; skips a job that another process runs. */
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
  // Without a pause, ten of them would leave no processor time to the one that does the work.
  await delay(20)
}
await tm.close()
process.disconnect()
