import { CACHES } from './areas/caches.ts'
import { COMMAND_LINE } from './areas/cli.ts'
import { COMBINATIONS } from './areas/combinations.ts'
import { CONSUMING } from './areas/consume.ts'
import { EDGES } from './areas/edges.ts'
import { FIGURES } from './areas/figures.ts'
import { JETSTREAM_STORE } from './areas/jetstream.ts'
import { PIPELINE_AREA } from './areas/pipeline.ts'
import { POSTGRES_STORE } from './areas/postgres.ts'
import { REQUESTS } from './areas/requests.ts'
import { SERVER } from './areas/server.ts'
import { SQLITE_STORE } from './areas/sqlite.ts'
import { ERRORS, MAINTENANCE, PAYLOADS, PUBLISHING } from './areas/topics.ts'
import { WEB } from './areas/web.ts'
import { WORLD } from './areas/world.ts'
import type { Area } from './mutant.ts'

/** In the order of the report. */
export const AREAS: readonly Area[] = [
  SQLITE_STORE,
  POSTGRES_STORE,
  CONSUMING,
  PUBLISHING,
  PAYLOADS,
  ERRORS,
  MAINTENANCE,
  PIPELINE_AREA,
  SERVER,
  COMMAND_LINE,
  WEB,
  COMBINATIONS,
  EDGES,
  CACHES,
  FIGURES,
  WORLD,
  REQUESTS,
  JETSTREAM_STORE,
]
