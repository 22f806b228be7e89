import { backfillVsOltp } from './backfill-vs-oltp.ts'
import { fanoutAmplification } from './fanout-amplification.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { heldTransaction } from './held-transaction.ts'
import { killAndResurrect } from './kill-and-resurrect.ts'
import { multiTenant } from './multi-tenant.ts'
import { partitions } from './partitions.ts'
import { pipelineThroughput } from './pipeline-throughput.ts'
import { restartStorm } from './restart-storm.ts'
import { slowConsumer } from './slow-consumer.ts'
import { soak } from './soak.ts'

export const CHECKPOINTS: readonly Checkpoint[] = [
  fanoutAmplification,
  killAndResurrect,
  backfillVsOltp,
  multiTenant,
  partitions,
  heldTransaction,
  restartStorm,
  slowConsumer,
  soak,
  pipelineThroughput,
]
