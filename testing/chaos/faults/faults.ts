import { clock } from './clock.ts'
import { allKilled, blockedProcess, closedProcess, halfBatches, leaderKilled, leaderPaused } from './cluster.ts'
import { droppedNamespace } from './dropped-namespace.ts'
import type { Fault } from './fault.ts'
import { diskFull, powerLoss, restoredFile } from './files.ts'
import { death, freeze } from './freeze.ts'
import { kill } from './kill.ts'
import { cut, halfOpen, lostAnswers, slow } from './network.ts'
import { failover, lostCommits, restart, restoredServer, terminate } from './server.ts'
import { syncErrors } from './sync-errors.ts'

export const FAULTS: readonly Fault[] = [
  kill,
  freeze,
  death,
  clock,
  droppedNamespace,
  syncErrors,
  powerLoss,
  diskFull,
  restoredFile,
  restart,
  terminate,
  lostCommits,
  failover,
  restoredServer,
  cut,
  slow,
  halfOpen,
  lostAnswers,
  leaderKilled,
  leaderPaused,
  allKilled,
  halfBatches,
  blockedProcess,
  closedProcess,
]
