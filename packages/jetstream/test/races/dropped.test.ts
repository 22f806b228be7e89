import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NamespaceGoneError } from 'tidemark'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { onlyFull, servers } from '../parts.ts'

describe('a namespace that is dropped while a topic is made', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  for (const moment of ['before', 'after'] as const) {
    // The second one waits for a stream to answer.
    it(`${moment} its streams are, is reported as gone, and keeps no stream`, {
      skip: moment === 'after' && onlyFull,
    }, async () => {
      const { open, name } = await namespace()
      await using parts = await open()
      await using other = await open()
      const { streams } = parts.client
      const { create } = streams
      let isDropped = false
      streams.create = async function (this: typeof streams, settings) {
        if (moment === 'after') await create.call(this, settings)
        if (!isDropped && /-G/.test(settings.name)) {
          isDropped = true
          await other.store.dropNamespace()
        }
        if (moment === 'before') await create.call(this, settings)
      }
      await assert.rejects(parts.store.topics.configure('work', {}), NamespaceGoneError)
      assert.equal(isDropped, true)
      assert.deepEqual(await streams.names(`TM-${name}-`), [])
    })
  }
})
