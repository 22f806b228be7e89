import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
// Inside: the table of genes that the page has to show.
import { GENES } from '../../src/sources/simulation/genome.ts'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation } from '../../src/sources/simulation/simulation.ts'
import { RUN } from './worlds.ts'

const page = readFileSync(`${import.meta.dirname}/../../../../docs/internals/simulation.md`, 'utf8')

describe('docs/internals/simulation.md', () => {
  const { settings } = createSimulation({ seed: 'none' })

  it('lists every option with its default', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, name, value]) => [name, value])
    const listed = Object.fromEntries(rows.filter(([name]) => name !== undefined && name in settings))
    const { shape, topology, organisms, ...plain } = settings
    const expected = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, String(value)]))
    const special = {
      shape: `\`[${shape.join(', ')}]\``,
      topology: `\`'${topology}'\``,
      organisms: 'one per 250 cells',
    }
    assert.deepEqual(listed, { ...expected, ...special })
    assert.equal(organisms, 10_000 / 250)
  })

  it('lists every gene and every type of molecule by its number', () => {
    for (const gene of GENES) assert.ok(page.includes(`\`${gene}\``), gene)
    const { moleculeTypes } = createSimulation({ seed: 'none' }).metadata(RUN, 1)
    for (const [number, type] of moleculeTypes.entries()) assert.ok(page.includes(`| ${number} | \`${type}\` |`), type)
  })
})
