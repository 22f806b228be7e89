import { ConfigError } from 'tidemark'
import { resolveServiceType } from '../services/registry.ts'
import type { ServiceType } from '../services/service-type.ts'
import { checkAgainstType } from './check-config.ts'
import { type Wiring, wiringProblems } from './check-wiring.ts'
import type { CheckedConfig } from './config.ts'
import type { WholeConfig } from './whole-config.ts'

/** The services of a configuration do not fit together. */
export class WiringError extends ConfigError {
  /** Its name does not follow from its code. */
  override readonly name = 'WiringError'
  /** Every problem, one sentence each. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super('config', `${problems.length} mistakes`, '')
    this.problems = problems
    const [only] = problems.length === 1 ? problems : []
    this.message = only ?? [`${problems.length} mistakes`, ...problems].join('\n  - ')
  }
}

/** Loads the types that are modules, and checks their options and bindings. */
export async function withTypes(given: CheckedConfig): Promise<WholeConfig> {
  const types = new Map<string, ServiceType>()
  const services = []
  for (const service of given.services) {
    const type = await resolveServiceType(service.type, given.folder)
    types.set(service.name, type)
    services.push({ ...service, options: checkAgainstType(service, type) })
  }
  return { config: { ...given, services }, types }
}

/**
 * Checks that the services fit together. Throws a `WiringError` that lists every problem.
 *
 * @example
 * checkWiring(await readConfig('tidemark.config.ts'))
 */
export function checkWiring(whole: WholeConfig, wiring: Wiring = {}): void {
  const problems = wiringProblems(whole, wiring)
  if (problems.length > 0) throw new WiringError(problems)
}
