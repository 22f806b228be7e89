import 'reflect-metadata'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { NestFactory } from '@nestjs/core'
import { Tidemark } from 'tidemark'

it('publishes over HTTP, consumes, and closes with the application', async () => {
  process.env.DATABASE = 'sqlite::memory:'
  const { AppModule } = await import('./app.module.js')
  const { EmailConsumer } = await import('./email.consumer.js')
  const app = await NestFactory.create(AppModule, { logger: ['error'] })
  await app.listen(0)
  const answer = await fetch(`${await app.getUrl()}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ orderId: 7, total: 12 }),
  })
  assert.equal(answer.status, 202)
  const { sent } = app.get(EmailConsumer)
  while (sent.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
  assert.deepEqual(sent, [7])
  const tm = app.get(Tidemark)
  await app.close()
  await assert.rejects(tm.publish('orders', {}), /closed/)
})
