import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HeldLease } from '../../src/consume/held-lease.ts'
import { type Claimant, type Holding, Isolation } from '../../src/consume/isolation.ts'
import type { Suspects } from '../../src/stores/leases.ts'

const A = 1
const B = 2
const LONG = 10_000

describe('what a claim may return', () => {
  it('is one piece of suspects per consumer, beside ordinary pages', () => {
    const process = new Process()
    const [first, second, other] = [process.consumer(A), process.consumer(A), process.consumer(B)]
    process.claims(first, 'none')
    assert.equal(process.claims(first, 'shared'), 'shared')
    assert.equal(process.claims(first, 'none', 'shared'), 'none')
    assert.equal(process.claims(second, 'shared'), 'shared')
    assert.equal(process.claims(other, 'shared'), 'shared')
  })

  it('is a piece again when that is settled, and denied claimants are woken', () => {
    const process = new Process()
    const consumer = process.consumer(A)
    process.claims(consumer, 'shared')
    process.claims(consumer, null, 'shared')
    assert.equal(consumer.wakes, 0)
    process.settle('lease-1')
    assert.equal(consumer.wakes, 1)
    assert.equal(process.claims(consumer, 'shared'), 'shared')
  })

  it('is the suspect that must be alone once its group holds nothing', () => {
    const process = new Process()
    const consumer = process.consumer(A)
    process.claims(consumer, 'none', 'alone')
    assert.equal(process.claims(consumer, 'alone'), 'wait')
    process.settle('lease-1')
    assert.equal(consumer.wakes, 1)
    assert.equal(process.claims(consumer, 'alone'), 'alone')
  })

  it('is nothing of the group while such a suspect is held', () => {
    const process = new Process()
    const [first, second] = [process.consumer(A), process.consumer(A)]
    process.claims(first, null, 'alone')
    process.claims(first, 'alone')
    assert.equal(process.claims(first, 'none'), 'wait')
    assert.equal(process.claims(second, 'none'), 'wait')
    process.settle('lease-1')
    assert.deepEqual([first.wakes, second.wakes], [1, 1])
  })

  it('is everything but suspects in other groups meanwhile', () => {
    const process = new Process()
    const [one, other] = [process.consumer(A), process.consumer(B)]
    process.claims(one, null, 'alone')
    process.claims(one, 'alone')
    assert.equal(process.claims(other, 'none', 'shared'), 'none')
    process.settle('lease-1')
    assert.equal(process.claims(one, 'none'), 'alone')
    assert.equal(process.claims(other, 'shared'), 'shared')
  })

  it('is no suspect that must be alone while another group holds suspects', () => {
    const process = new Process()
    const [one, other] = [process.consumer(A), process.consumer(B)]
    process.claims(other, 'shared')
    process.claims(one, null, 'alone')
    assert.equal(process.claims(one, 'alone'), 'wait')
    // And others get no new ones while it waits, or its turn might never come.
    process.settle('lease-1')
    assert.equal(process.claims(other, 'none', 'shared'), 'none')
    assert.equal(process.claims(one, 'alone'), 'alone')
  })

  it('is suspects of other groups again when the one that waited has left', () => {
    const process = new Process()
    const [one, other] = [process.consumer(A), process.consumer(B)]
    process.claims(one, 'none', 'alone')
    assert.equal(process.claims(one, 'alone'), 'wait')
    assert.equal(process.claims(other, 'none'), 'none')
    process.isolation.leave(one)
    assert.equal(process.claims(other, 'shared'), 'shared')
  })

  it('is not blocked by what is held for long', () => {
    const process = new Process()
    const consumer = process.consumer(A)
    process.claims(consumer, 'none', 'alone')
    process.now += LONG
    assert.equal(process.claims(consumer, 'alone'), 'alone')
    assert.equal(process.claims(consumer, 'none'), 'wait')
    process.now += LONG
    assert.notEqual(process.claims(consumer, 'none'), 'wait')
  })

  it('is an ordinary page in between, if many must be alone', () => {
    const process = new Process()
    const consumer = process.consumer(A)
    process.claims(consumer, null, 'alone')
    const brought: string[] = []
    for (let claim = 1; claim <= 8; claim++) {
      const kind = process.claims(consumer, 'asked', 'alone')
      brought.push(kind)
      process.settle(`lease-${claim}`)
      process.now += 400
    }
    assert.deepEqual(brought, ['alone', 'alone', 'alone', 'none', 'alone', 'alone', 'alone', 'none'])
  })

  it('is requested again at once if a claim found only suspects that must be alone', () => {
    const process = new Process()
    const consumer = process.consumer(A)
    assert.equal(process.isAskedAgain(consumer, null, 'alone'), true)
    assert.equal(process.isAskedAgain(consumer, 'alone', 'none'), false)
    process.settle('lease-1')
    process.now += 1_001
    // The turn of the others, who have nothing.
    assert.equal(process.isAskedAgain(consumer, null, 'alone'), true)
    assert.equal(process.claims(consumer, null), 'alone')
  })

  it('is nothing while its group holds anything, if messages have a single attempt', () => {
    const process = new Process()
    const [first, second, other] = [process.consumer(A, true), process.consumer(A, true), process.consumer(B)]
    process.claims(first, 'none')
    assert.notEqual(process.claims(other, 'none'), 'wait')
    assert.equal(process.claims(first, 'none'), 'wait')
    assert.equal(process.claims(second, 'none'), 'wait')
    process.settle('lease-1')
    assert.deepEqual([first.wakes, second.wakes], [1, 1])
    process.claims(second, 'none')
    assert.equal(process.claims(first, 'none'), 'wait')
    process.now += LONG
    assert.notEqual(process.claims(first, 'none'), 'wait')
  })

  it('is decided again when a claim fails', () => {
    const process = new Process()
    const [one, other] = [process.consumer(A), process.consumer(B)]
    process.claims(one, null, 'alone')
    const failing = process.isolation.begin(one) as Holding
    assert.equal(process.claims(other, null, 'shared'), 'none')
    process.isolation.cancel(failing)
    assert.equal(other.wakes, 1)
    assert.equal(process.claims(one, 'alone'), 'alone')
  })
})

type Consumer = Claimant & { wakes: number }

class Process {
  now = 0
  readonly isolation = new Isolation(() => this.now)
  #leases = 0

  consumer(id: number, isSingleAttempt = false): Consumer {
    const consumer = { subscription: { id }, isSingleAttempt, wakes: 0, wake: () => void consumer.wakes++ }
    return consumer
  }

  /** A claim that brings such a lease, or none. Gives what it was allowed to bring. */
  claims(consumer: Consumer, brings: Suspects | 'asked' | null, waiting: Suspects = 'none'): Suspects | 'wait' {
    const begun = this.isolation.begin(consumer)
    if (typeof begun === 'number') return 'wait'
    const { suspects: asked } = begun
    this.isolation.end(consumer, begun, brings && this.#lease(brings === 'asked' ? asked : brings), waiting)
    return asked
  }

  isAskedAgain(consumer: Consumer, brings: Suspects | null, waiting: Suspects): boolean {
    const holding = this.isolation.begin(consumer) as Holding
    return this.isolation.end(consumer, holding, brings && this.#lease(brings), waiting)
  }

  settle(token: string): void {
    this.isolation.settled(token)
  }

  /** Nothing else of a lease is looked at. */
  #lease(suspects: Suspects): HeldLease {
    return { lease: { token: `lease-${++this.#leases}`, suspects }, isExpiredAt: () => false } as unknown as HeldLease
  }
}
