import type { Context } from '../context.ts'
import type { ServerMetrics } from '../metrics.ts'
import type { Route } from '../route.ts'
import { auditRoutes } from './audit.ts'
import { backfillRoutes } from './backfills.ts'
import { claimRoutes } from './claims.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { descriptionRoutes } from './description.ts'
import { environmentRoutes } from './environment.ts'
import { frameRoutes } from './frames.ts'
import { groupRoutes } from './groups.ts'
import { healthRoutes } from './health.ts'
import { ingestRoutes } from './ingest.ts'
import { liveRoutes } from './live.ts'
import { messageRoutes } from './messages.ts'
import { organismRoutes } from './organisms.ts'
import { pageRoutes } from './page.ts'
import { pipelineRoutes } from './pipeline.ts'
import { pipelineLetterRoutes } from './pipeline-letters.ts'
import { populationRoutes } from './populations.ts'
import { pullRoutes } from './pull.ts'
import { runRoutes } from './runs.ts'
import { sessionRoutes } from './session.ts'
import { tileRoutes } from './tiles.ts'
import { topicRoutes } from './topics.ts'

/** Every route of the server, in the order in which the description shows them. */
export const allRoutes = (context: Context, metrics: ServerMetrics): readonly Route[] => [
  ...topicRoutes(context),
  ...messageRoutes(context),
  ...pullRoutes(context),
  ...groupRoutes(context),
  ...backfillRoutes(context),
  ...claimRoutes(context),
  ...deadLetterRoutes(context),
  ...pipelineRoutes(context),
  ...pipelineLetterRoutes(context),
  ...ingestRoutes(context),
  ...runRoutes(context),
  ...environmentRoutes(context),
  ...tileRoutes(context),
  ...frameRoutes(context),
  ...organismRoutes(context),
  ...populationRoutes(context),
  ...liveRoutes(context),
  ...healthRoutes(context, metrics),
  ...sessionRoutes(context),
  ...auditRoutes(context),
  ...descriptionRoutes(),
  ...(context.settings.page ? pageRoutes(context) : []),
]
