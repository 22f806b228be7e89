import { EVERY, type Fault } from './fault.ts'

export const kill: Fault = {
  name: 'kill',
  about: 'SIGKILL of one to three processes, which start again',
  engines: EVERY,
  lane: 'processes',
  reaches: [],
  async inject({ fleet }, random) {
    const victims = new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(fleet.names)))
    await Promise.all([...victims].map(name => fleet.kill(name)))
  },
}
