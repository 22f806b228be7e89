import type { ServiceType } from '../services/service-type.ts'
import type { CheckedConfig } from './config.ts'

/** What a checked configuration says of services whose types are modules of the user's own, and of all of them together. */
export type WholeConfig = { readonly config: CheckedConfig; readonly types: ReadonlyMap<string, ServiceType> }
