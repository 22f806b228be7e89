import { CONSUMING } from './areas/consume.ts'
import { POSTGRES_STORE } from './areas/postgres.ts'
import { SQLITE_STORE } from './areas/sqlite.ts'
import type { Area } from './mutant.ts'

/** In the order of the report. */
export const AREAS: readonly Area[] = [SQLITE_STORE, POSTGRES_STORE, CONSUMING]
