/** Faults of the network between the processes and the PostgreSQL server. */
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../until.ts'
import type { Fault } from './fault.ts'
import { serverOf } from './server.ts'

const DATABASE = { engines: ['postgres'], lane: 'database', reaches: [] } as const
/** The statement name of a publish, and the commit of a publisher's own transaction. */
const PUBLISHES = /tidemark_publish|commit/i

export const cut: Fault = {
  ...DATABASE,
  name: 'cut',
  about: 'PostgreSQL: all connections are reset',
  async inject(scene) {
    serverOf(scene).network.reset()
  },
}

export const slow: Fault = {
  ...DATABASE,
  name: 'slow',
  about: 'PostgreSQL: everything arrives up to 300 ms later',
  async inject(scene, random) {
    const { network } = serverOf(scene)
    network.delayMs = 50 + random.below(250)
    await delay(2_000)
    network.delayMs = 0
  },
}

export const halfOpen: Fault = {
  ...DATABASE,
  name: 'half-open',
  about: 'PostgreSQL: connections fall silent for ever and nobody is told; new ones work again after a while',
  async inject(scene, random) {
    const { network } = serverOf(scene)
    network.cut()
    await delay(500 + random.below(2_000))
    network.forget()
  },
}

export const lostAnswers: Fault = {
  ...DATABASE,
  name: 'lost-answers',
  about: 'PostgreSQL: the answers to commits are lost with their connections',
  reaches: ['unknown outcomes'],
  async inject(scene, random) {
    const { network } = serverOf(scene)
    const lost = { to: PUBLISHES, count: 3 + random.below(5) }
    network.lostAnswers = lost
    await until(() => lost.count === 0, { what: 'answers to get lost', timeout: 10_000 }).catch(() => {}) // few publishes
    network.lostAnswers = undefined
  },
}
