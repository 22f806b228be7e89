import type { ServiceType } from '../services/service-type.ts'
import type { CheckedConfig } from './config.ts'

/** A checked configuration with the service types that it uses, including your own. */
export type WholeConfig = {
  /** The configuration. */
  readonly config: CheckedConfig
  /** Service types by name or path. */
  readonly types: ReadonlyMap<string, ServiceType>
}
