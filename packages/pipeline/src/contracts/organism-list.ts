/** The organisms of one tick as one byte array: each an OrganismState preceded by its length, as in a batch file. */
import { writeOrganism } from './organism-codec.ts'
import type { Organism } from './tick.ts'
import { WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

const writer = new WireWriter()

export function joinOrganisms(organisms: readonly Uint8Array[]): Uint8Array {
  writer.at = 0
  for (const organism of organisms) {
    writer.varint(organism.length)
    writer.reserve(organism.length)
    writer.bytes.set(organism, writer.at)
    writer.at += organism.length
  }
  return writer.take()
}

/**
 * Encodes organisms as OrganismState messages, each with its length before it.
 *
 * @example
 * await using opened = await openRunIndex('sqlite:./data/index', run)
 * const bytes = encodeOrganisms((await opened.organisms.at(500)) ?? [])
 */
export function encodeOrganisms(organisms: readonly Organism[]): Uint8Array {
  const encoded = organisms.map(organism => {
    const each = new WireWriter()
    writeOrganism(each, organism)
    return each.take()
  })
  return joinOrganisms(encoded)
}

/** Views into `bytes`, not copies. */
export function* splitOrganisms(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  const reader = new WireReader('OrganismState', bytes)
  while (reader.at < bytes.length) {
    const { start, end } = reader.delimited()
    yield bytes.subarray(start, end)
  }
}
