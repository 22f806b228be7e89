/** The public names of `@tidemark/server`, listed by hand. */

export { AddressInUseError } from './errors.ts'
export type { Limits } from './limits.ts'
export type { IngestTarget, ServerOptions } from './options.ts'
export type { Problem } from './problems/problem.ts'
export { type RunningServer, startServer } from './start-server.ts'
