/**
 * One of competing indexers in a process of its own: claims what it can of the batches, and prints each it completed.
 * With `hang` it stops at its first claim, as if at work on it, and completes that when it is told to go on.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type BatchClaim, BatchLedger, openIndex, StaleClaimError } from '@tidemark/pipeline'
import { nth } from '../batches.ts'

export type IndexerArguments = {
  readonly address: string
  readonly runId: string
  readonly name: string
  readonly batches: number
  readonly hang?: boolean
}

const { address, runId, name, batches, hang = false } = JSON.parse(process.argv[2] ?? '') as IndexerArguments
const database = await openIndex(address, runId, { durability: 'process' })
const ledger = await BatchLedger.open(database, { indexer: 'dummy', samplingInterval: 10 })
// Whoever is ready first waits for the others, so that they really compete.
console.log('ready')
await new Promise(resolve => process.once('message', resolve))
await (hang ? holdOne() : work())
await database.close()
process.disconnect?.()

async function work(): Promise<void> {
  for (let completed = 0; completed < batches; ) {
    for (let index = 0; index < batches; index++) {
      const result = await ledger.tryClaim(nth(index), name)
      if (result.outcome !== 'claimed') continue
      await complete(result.claim)
      // Fair shares: one batch, then it is another's turn.
      await delay(1)
    }
    completed = (await ledger.counts()).completed
  }
}

async function holdOne(): Promise<void> {
  const result = await ledger.tryClaim(nth(0), name)
  if (result.outcome !== 'claimed') throw new Error(`The batch is ${result.outcome}`)
  const goesOn = new Promise(resolve => process.once('message', resolve))
  console.log(`claimed ${result.claim.version}`)
  await goesOn
  await complete(result.claim)
}

async function complete(claim: BatchClaim): Promise<void> {
  try {
    await ledger.complete(claim)
    console.log(`completed ${claim.key}`)
  } catch (error) {
    if (!(error instanceof StaleClaimError)) throw error
    console.log(`stale ${claim.version}`)
  }
}
