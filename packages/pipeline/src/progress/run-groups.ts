import { type GroupHealth, type Tidemark, TopicNotFoundError } from 'tidemark'
import type { Roles } from '../config/roles.ts'
import { isEnvironmentFault } from '../faults.ts'
import { BATCH_TOPIC, topicOfRun } from '../services/notification-topics.ts'

/** Consumer groups of the run's indexers, and their waiting messages. */
export class RunGroups {
  readonly names: readonly string[]
  readonly #topics: () => Tidemark | undefined
  /** '' if the run is not known yet. */
  readonly #topic: string
  #lastKnown: readonly GroupHealth[] = []

  constructor(topics: () => Tidemark | undefined, { runId, indexers }: Roles) {
    this.names = [...new Set(indexers.map(({ group }) => group).filter(group => group !== ''))]
    this.#topics = topics
    this.#topic = runId === '' ? '' : topicOfRun(BATCH_TOPIC, runId)
  }

  /** As of the last answer of the topics. */
  get lastKnown(): readonly GroupHealth[] {
    return this.#lastKnown
  }

  /** undefined: the topics do not answer, which the pipeline's status reports. */
  async health(): Promise<readonly GroupHealth[] | undefined> {
    const topics = this.#topics()
    if (this.#topic === '' || topics === undefined) return []
    try {
      const groups = await topics.admin.groups(this.#topic)
      this.#lastKnown = groups.filter(({ group }) => this.names.includes(group))
      return this.#lastKnown
    } catch (error) {
      if (isEnvironmentFault(error) || error instanceof TopicNotFoundError) return undefined
      throw error
    }
  }
}

/** Messages that the group has not processed yet, including those from before this start. */
export const waitingIn = ({ lagMessages, inFlight, retries }: GroupHealth): number => lagMessages + inFlight + retries
