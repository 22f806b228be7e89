/** The suites that need fast-check. It is an optional peer: nothing else may import this folder statically. */
export { backfillModel } from './backfill-model.ts'
export { cleanUpModel } from './clean-up-model.ts'
export { commandModel } from './command-model.ts'
export { completionModel } from './completion-model.ts'
