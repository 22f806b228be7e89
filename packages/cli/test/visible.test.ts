import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { open } from 'tidemark'
// Inside: in this process, since a process of its own costs half a second.
import { Output } from '../src/output/output.ts'
// Inside: the small parts, on text that no database would store.
import { facts, table } from '../src/output/table.ts'
import { visible } from '../src/output/visible.ts'
import { tidemark } from './command.ts'
import { ENGINES, QUIET } from './engines.ts'

/** Clears the screen, turns text round, rings, goes back, hides, breaks the line, begins a string of the terminal's. */
const NASTY = 'a\u001b[2Jb\u202ec\u0007\bd\u200be\nf\u2028g\u009bh\u061ci\u{e0041}'
const SEEN = 'a\\u001b[2Jb\\u202ec\\u0007\\u0008d\\u200be\\u000af\\u2028g\\u009bh\\u061ci\\u{e0041}'
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

function terminal(): { output: Output; text: () => string } {
  const written: string[] = []
  const stream = { write: (text: string) => written.push(text), isTTY: true }
  return {
    output: new Output({ json: false, stdout: stream, stderr: stream, environment: {} }),
    text: () => written.join(''),
  }
}

describe('what is shown on a terminal', () => {
  it('has no control character, and none that makes it read as something else', () => {
    assert.equal(visible(NASTY), SEEN)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        assert.doesNotMatch(visible(text), UNSEEN)
      }),
    )
  })

  it('has only our own colours, and aligned columns', () => {
    const { output, text } = terminal()
    const rows = [
      [output.paint('red', NASTY), 1],
      ['\u001b[31mred\u001b[0m', 2],
    ]
    output.result({}, () => [...table(['name', 'n'], rows), ...facts([['name', NASTY]])])
    const lines = text().trimEnd().split('\n')
    assert.ok(lines.some(line => line.includes(`\u001b[31m${SEEN}\u001b[39m`)))
    assert.ok(lines.some(line => line.includes('\\u001b[31mred\\u001b[0m')))
    const plain = lines.map(stripVTControlCharacters)
    assert.equal(plain[2]?.indexOf('1', SEEN.length), plain[3]?.lastIndexOf('2'))
    for (const line of plain) assert.doesNotMatch(line, UNSEEN)
  })

  it('is an error whose further lines cannot pass for another message', () => {
    const { output, text } = terminal()
    output.complain({ code: 'X', message: 'It failed: \u001b[2J\nerror forged' })
    output.note('one\ntwo')
    assert.equal(stripVTControlCharacters(text()), 'error It failed: \\u001b[2J\n  error forged\none\n  two\n')
  })
})

for (const { engine, fresh } of ENGINES) {
  it(`keys, payloads, headers and errors that were stored are escaped, and not in JSON, on ${engine}`, async () => {
    await using database = await fresh()
    await using tm = await open(database.url, { maintenance: false, logger: QUIET, autoCreate: true })
    await tm.configureTopic('orders', { maxAttempts: 1 })
    // PostgreSQL keeps no lone halves, and nobody no NUL.
    await tm.publish('orders', NASTY, { key: NASTY, headers: { [`x${NASTY}`]: NASTY } })
    const reader = tm.reader('orders')
    const delivery = await reader.receive()
    await delivery.nack(new Error(NASTY))
    await reader.close()
    const options = { database: database.url }
    const [letter] = await tm.admin.deadLetters('orders')
    for (const args of [
      ['tail', 'orders', '--last', '1', '--once'],
      ['dead-letters', 'list', 'orders'],
      ['dead-letters', 'inspect', 'orders', String(letter?.id)],
      ['groups', 'consumers', 'orders'],
      ['claims', 'list', 'orders'],
    ]) {
      const { code, out, err } = await tidemark(args, options)
      assert.deepEqual([code, err], [0, ''], args.join(' '))
      assert.doesNotMatch(out.replaceAll('\n', ''), UNSEEN, args.join(' '))
    }
    const { out } = await tidemark(['tail', 'orders', '--last', '1', '--once', '--json'], options)
    assert.equal(JSON.parse(out).key, NASTY)
    const { err } = await tidemark(['topics', 'describe', NASTY], options)
    assert.doesNotMatch(err.replaceAll('\n', ''), UNSEEN)
  })
}
