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
      const { client } = parts
      const { createStream } = client
      let isDropped = false
      client.createStream = async function (this: typeof client, settings) {
        if (moment === 'after') await createStream.call(this, settings)
        if (!isDropped && /-G/.test(settings.name)) {
          isDropped = true
          await other.store.dropNamespace()
        }
        if (moment === 'before') await createStream.call(this, settings)
      }
      await assert.rejects(parts.store.topics.configure('work', {}), NamespaceGoneError)
      assert.equal(isDropped, true)
      assert.deepEqual(await client.streamNames(`TM-${name}-`), [])
    })
  }
})
