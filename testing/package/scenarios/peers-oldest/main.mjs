import assert from 'node:assert/strict'
import { create, createRegistry } from '@bufbuild/protobuf'
import { TimestampSchema } from '@bufbuild/protobuf/wkt'
import { open } from 'tidemark'

for (const url of ['sqlite:./app.db', process.env.TIDEMARK_TEST_POSTGRES_URL]) {
  const tm = await open(url, { registry: createRegistry(TimestampSchema) })
  await tm.publish('times', create(TimestampSchema, { seconds: 7n }))
  const reader = tm.reader('times')
  const delivery = await reader.poll(20_000)
  assert.equal(delivery?.payload.$typeName, 'google.protobuf.Timestamp')
  assert.equal(delivery.payload.seconds, 7n)
  await reader.ack(delivery)
  await tm.close()
}
