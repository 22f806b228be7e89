import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ErrorKind, ErrorKinds } from '../src/page/dead-letters/letter-shapes.ts'
import { FlowMemory } from '../src/page/overview/flow-memory.ts'
import { textOf } from '../src/page/overview/letters-in-words.ts'
import { figuresOf } from '../src/page/overview/node-figures.ts'
import type { PipelineStatus } from '../src/page/services/service-shapes.ts'
import type { Attention } from '../src/page/shapes.ts'

const kind = (group: string, error: string): ErrorKind => ({
  topic: 'orders',
  group,
  fingerprint: error,
  error,
  count: 3,
  firstAt: '',
  lastAt: '',
  sample: { id: 1, name: 'Error', message: error },
  perMinute: [],
})
const kinds = (...errors: ErrorKind[]): ErrorKinds => ({ errors, omitted: 0, examined: 9, complete: true })
const attention: Attention = {
  severity: 'warning',
  kind: 'dead-letters',
  topic: 'orders',
  group: 'email',
  since: null,
  count: 3,
  text: 'orders / email has 3 dead letters',
}

describe('the line of a group with dead letters', () => {
  it('names their error if all have failed in the same way', () => {
    const found = kinds(kind('email', 'SmtpError: mailbox full'), kind('billing', 'Error: other'))
    assert.equal(textOf(attention, found), 'orders / email has 3 dead letters “SmtpError: mailbox full”')
  })

  it('names none if there are several, if not all were examined, and in other lines', () => {
    const several = kinds(kind('email', 'A'), kind('email', 'B'))
    const partly = { ...kinds(kind('email', 'A')), complete: false }
    assert.equal(textOf(attention, several), attention.text)
    assert.equal(textOf(attention, partly), attention.text)
    assert.equal(textOf(attention, undefined), attention.text)
    assert.equal(textOf({ ...attention, kind: 'dead-group' }, kinds(kind('email', 'A'))), attention.text)
  })
})

describe('the nodes of the flow', () => {
  it('show the tick of a simulation and the size of a storage', () => {
    const service = { name: 'simulation', speed: { ticksPerSecond: 25, configured: 25 }, metrics: { tick: 41_200 } }
    const other = { name: 'organisms', speed: null, metrics: { tick: 7 } }
    const disk = { parts: [{ name: 'files', kind: 'storage', bytes: 1_200 }] }
    const { ticks, sizes } = figuresOf({ services: [service, other], disk } as unknown as PipelineStatus)
    assert.deepEqual([...ticks], [['service:simulation', 41_200]])
    assert.deepEqual([...sizes], [['storage:files', 1_200]])
  })

  it('remember each look once, and the last sixty', () => {
    const memory = new FlowMemory()
    for (const at of ['1', '1', '2']) memory.add(at, new Map([['topic:a', Number(at)]]))
    assert.deepEqual(memory.of('topic:a'), [1, 2])
    for (let look = 3; look < 100; look++) memory.add(String(look), new Map([['topic:a', look]]))
    assert.equal(memory.of('topic:a').length, 60)
    assert.deepEqual(memory.of('topic:b'), [])
  })
})
