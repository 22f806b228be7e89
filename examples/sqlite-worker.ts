/**
 * A worker on a SQLite file: it takes jobs from a queue, retries what fails and stops cleanly. Start several of them: they share
 * the work.
 *
 *   node sqlite-worker.ts          run a worker until Ctrl+C
 *   node sqlite-worker.ts add 5    add five jobs
 */
import { open } from 'tidemark'

type Mail = { to: string }

const tm = await open<{ mail: Mail }>(process.env.DATABASE ?? 'sqlite:./data/jobs.db')

// Creates the topic, or changes the given settings of an existing one. Repeating it is safe.
await tm.configureTopic('mail', {
  semantics: 'queue', // every job goes to one worker
  lease: '30s', // a worker that dies holds its jobs no longer than this
  maxAttempts: 3, // then the job is dead-lettered, for a person to look at
  backoff: { initial: '200ms', max: '1m' },
})

const [command, count = '1'] = process.argv.slice(2)
if (command === 'add') await addJobs(Number(count))
else await work()
await tm.close()

async function addJobs(jobs: number): Promise<void> {
  // One transaction: all jobs are stored, or none.
  await tm.publishBatch(
    'mail',
    Array.from({ length: jobs }, (_, index) => ({ to: `customer-${index + 1}@example.com` })),
  )
  console.log(`added ${jobs} jobs`)
}

async function work(): Promise<void> {
  const workers = tm.consumerGroup('mail')
  // A handler that returns acknowledges its message. One that throws gets it again later. `signal` aborts when the lease is lost.
  workers.addConsumer(
    `worker-${process.pid}`,
    async ({ payload, attempt }, { signal }) => send(payload, attempt, signal),
    {
      concurrency: 4,
    },
  )
  await workers.start()
  console.log('waiting for jobs, Ctrl+C to stop')
  await new Promise(resolve => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
  // Waits for jobs that have begun, and leaves the others to the next worker.
  await workers.stop({ timeout: '10s' })
  console.log('stopped')
}

/** Stands for your mail service, which refuses the first customer once. */
async function send({ to }: Mail, attempt: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (to.startsWith('customer-1@') && attempt === 1) throw new Error('mailbox busy')
  console.log(`sent mail to ${to}, attempt ${attempt}`)
}
