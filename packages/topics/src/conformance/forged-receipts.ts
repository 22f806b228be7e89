import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { describe } from 'node:test'
import { InvalidReceiptError, type Pulled, StaleDeliveryError, type Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { groupOf, range } from './consuming.ts'
import { it } from './it.ts'
import { recording } from './recording-logger.ts'

const PARTS = 3

function receiptOf({ receipt }: Pulled): string {
  assert.ok(receipt !== null)
  return receipt
}

/** The fields of a receipt, which anybody can read. */
const fieldsOf = (receipt: string): unknown[] =>
  JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())

const bodyOf = (fields: unknown[]): string => Buffer.from(JSON.stringify(fields)).toString('base64url')

/** With every check that an attacker could think of. */
function forgeries(receipt: string, fields: unknown[]): string[] {
  const body = bodyOf(fields)
  const [prefix = '', , seal = ''] = receipt.split('.')
  const digest = createHash('sha256').update(body).digest('base64url')
  const hmacs = ['', '\0'.repeat(32), '../index.ts'].map(key => createHmac('sha256', key).update(`${prefix}.${body}`))
  const seals = [
    seal,
    digest.slice(0, 10),
    digest,
    '',
    ...hmacs.map(hmac => hmac.digest().subarray(0, 16).toString('base64url')),
  ]
  return ['tmr1', 'tmr2', prefix].flatMap(version => seals.map(each => `${version}.${body}.${each}`))
}

const settleBoth = (tm: Tidemark, receipt: string): (() => Promise<unknown>)[] => [
  () => tm.settle(receipt, { acks: 'all' }),
  () => tm.extend(receipt, '1h'),
]

export function forgedReceipts({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a forged receipt', () => {
        it('is refused whatever it contains, takes no memory, and logs nothing', async () => {
          await using database = await store.fresh()
          const { logger, lines } = recording()
          const tm = await database.open({ logger })
          await tm.publishBatch('work', range(1, 3))
          const receipt = receiptOf(await tm.pull('work', undefined, { max: 3 }))
          const fields = fieldsOf(receipt)
          lines.length = 0
          const size = 6
          const slots = 9
          const huge = fields.with(size, 4_000_000_000).with(slots, [0, 1, 2])
          const before = process.memoryUsage().arrayBuffers
          for (const forged of [...forgeries(receipt, huge), ...forgeries(receipt, fields.with(size, 1_000_000))]) {
            for (const act of settleBoth(tm, forged)) await assert.rejects(act(), InvalidReceiptError)
          }
          assert.ok(process.memoryUsage().arrayBuffers - before < 100_000_000)
          assert.deepEqual(lines, [])
          assert.equal((await groupOf(tm, 'work')).inFlight, 3)
        })

        it('with another spelling of its signature is refused', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const receipt = receiptOf(await tm.pull('work'))
          assert.equal(receipt.split('.').length, PARTS)
          for (const other of [
            `${receipt}=`,
            `${receipt}==`,
            ` ${receipt}`,
            `${receipt}\n`,
            receipt.replaceAll('-', '+'),
          ]) {
            if (other !== receipt) await assert.rejects(tm.settle(other, { acks: 'all' }), InvalidReceiptError)
          }
          await tm.settle(receipt, { acks: 'all' })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a settlement of many messages', () => {
        it('is one log line, whether it is stale or failed', async () => {
          await using database = await store.fresh()
          const { logger, lines } = recording()
          const tm = await database.open({ logger })
          await tm.configureTopic('work', { backoff: { initial: 1, max: 1, factor: 1 } })
          await tm.publishBatch('work', range(1, 50))
          const pulled = await tm.pull('work', undefined, { max: 50 })
          lines.length = 0
          await tm.settle(receiptOf(pulled), {
            nacks: pulled.messages.map(({ id }) => ({ id, error: 'no', delay: 0 })),
          })
          assert.equal(lines.filter(line => line.text === 'a handler failed').length, 1)
          assert.equal(tm.metrics().totals.nacked, 50)
          const again = await tm.pull('work', undefined, { max: 50, wait: '20s' })
          await database.expireLeases()
          await tm.pull('work', undefined, { max: 50, wait: '20s' })
          lines.length = 0
          await assert.rejects(tm.settle(receiptOf(again), { acks: 'all' }), StaleDeliveryError)
          assert.equal(lines.filter(line => line.text === 'stale settlement rejected').length, 1)
          assert.equal(tm.metrics().totals.staleRejected, again.messages.length)
        })
      })

      it('a receipt of another namespace is refused, even if every id is the same', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open({ namespace: 'other' })]
        for (const tm of [here, there]) await tm.publish('work', 1)
        const [mine, theirs] = [await here.pull('work'), await there.pull('work')]
        await assert.rejects(there.settle(receiptOf(mine), { acks: 'all' }), InvalidReceiptError)
        await assert.rejects(here.extend(receiptOf(theirs)), InvalidReceiptError)
        await there.settle(receiptOf(theirs), { acks: 'all' })
      })
    })
  }
}
