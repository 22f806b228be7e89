import { setTimeout as delay } from 'node:timers/promises'
import type { PipelineStatus } from '@tidemark/pipeline'
import type { Health } from 'tidemark'
import type { Settings } from '../options.ts'
import { withoutPaths } from '../problems/http-words.ts'
import { mainReasons, pipelineReasons, type Reason, topicReasons } from './reasons.ts'

/** An orchestrator does not wait longer. Parts that have not answered by then are reported as silent. */
const ANSWER_MS = 4_500

export type Looked = {
  readonly reasons: readonly Reason[]
  /** undefined: no topics are served, or nothing is known about them. */
  readonly topics: Health | undefined
  readonly pipeline: PipelineStatus | undefined
}

/** One health check for all concurrent callers: an unresponsive database is queried once. */
export class HealthLook {
  readonly #settings: Pick<Settings, 'topics' | 'pipeline'>
  #looking: Promise<Looked> | undefined

  constructor(settings: Pick<Settings, 'topics' | 'pipeline'>) {
    this.#settings = settings
  }

  async look(): Promise<Looked> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return await this.#looking
  }

  async #look(): Promise<Looked> {
    const { topics, pipeline } = this.#settings
    const [health, status] = await Promise.all([
      topics && inTime(topics.admin.health()),
      // If it does not answer in time, the previous result is used.
      pipeline && inTime(pipeline.look()).then(looked => (looked instanceof Error ? pipeline.status() : looked)),
    ])
    const reasons = [
      ...(health === undefined ? [] : health instanceof Error ? [silent(health)] : topicReasons(health)),
      ...(status === undefined ? [] : pipelineReasons(status)),
    ]
    return { reasons: mainReasons(reasons), topics: health instanceof Error ? undefined : health, pipeline: status }
  }
}

const silent = ({ message }: Error): Reason => ({
  kind: 'database',
  message: `The health of the topics is not known: ${withoutPaths(message)}`,
  blocking: true,
})

async function inTime<T>(looking: Promise<T>): Promise<T | Error> {
  const late = new AbortController()
  const waiting = delay(ANSWER_MS, undefined, { signal: late.signal, ref: false })
  try {
    return await Promise.race([looking, waiting.then(() => new Error(`no answer within ${ANSWER_MS} ms`))])
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    late.abort()
    waiting.catch(() => undefined)
  }
}
