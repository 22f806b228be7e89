import type { JobRecord, Jobs } from 'tidemark/store'
import { type Namespace, parsed, type Revision, written } from './namespace.ts'
import { Conflict, NoAnswer } from './nats/errors.ts'

type JobDocument = {
  readonly name: string
  readonly token: string | null
  readonly lockedUntil: number
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly runs: number
  readonly result: unknown
  readonly succeededAt: number | null
  readonly tookMs: number | null
}

/** Locks of the maintenance jobs, one document each. */
export function jetStreamJobs(ns: Namespace): Jobs {
  const { client, names, clock } = ns
  const read = async (name: string): Promise<Revision<JobDocument> | null> =>
    parsed(await client.last(names.namespaceStream(), names.job(name)))
  /** False if `decide` declines, or another process is faster. */
  const change = async (name: string, decide: (job: JobDocument | null) => JobDocument | null): Promise<boolean> => {
    await ns.assertThere()
    const found = await read(name)
    const next = decide(found?.value ?? null)
    if (next === null) return false
    try {
      await client.store([written(names.job(name), next, found?.seq ?? 0)])
      return true
    } catch (error) {
      if (error instanceof Conflict) return false
      if (error instanceof NoAnswer) return (await read(name))?.value.token === next.token
      throw error
    }
  }
  return {
    lock: (name, { token, ttlMs, everyMs }) =>
      change(name, job => {
        const now = clock.now()
        const isFree = job === null || job.token === null || job.lockedUntil < now
        const isDue = job === null || everyMs === undefined || job.startedAt <= now - everyMs
        if (!isFree || !isDue) return null
        const past = job ?? { name, finishedAt: null, runs: 0, result: null, succeededAt: null, tookMs: null }
        return { ...past, token, lockedUntil: now + ttlMs, startedAt: now }
      }),
    renew: (name, { token, ttlMs }) =>
      change(name, job => (job?.token === token ? { ...job, lockedUntil: clock.now() + ttlMs } : null)),
    unlock: async (name, token, result) => {
      await change(name, job => {
        if (job?.token !== token) return null
        const now = clock.now()
        const { error, failed } = (result ?? {}) as { error?: unknown; failed?: number }
        const succeededAt = error == null && (failed ?? 0) === 0 ? now : job.succeededAt
        const tookMs = now - job.startedAt
        return {
          ...job,
          token: null,
          lockedUntil: 0,
          finishedAt: now,
          runs: job.runs + 1,
          result: result ?? null,
          succeededAt,
          tookMs,
        }
      })
    },
    list: async () => {
      await ns.assertThere()
      const stored = await client.lasts(names.namespaceStream(), names.inNamespace('j.*'))
      const jobs = stored.flatMap(each => parsed<JobDocument>(each)?.value ?? [])
      return jobs.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(job => recordOf(job, clock.now()))
    },
  }
}

const recordOf = ({ token, lockedUntil, ...job }: JobDocument, now: number): JobRecord => ({
  ...job,
  running: token !== null && lockedUntil >= now,
})
