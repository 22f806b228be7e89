import { createServer } from 'node:http'
import { open } from 'tidemark'

const tm = await open<{ visits: { path: string } }>(process.env.DATABASE ?? 'sqlite:./data/app.db')
await tm.configureTopic('visits')
const visits = tm.consumerGroup('visits')
visits.addConsumer('count', ({ payload }) => console.log(`visit of ${payload.path}`))
await visits.start()

const server = createServer(async (request, response) => {
  try {
    const { messageId } = await tm.publish('visits', { path: request.url ?? '/' })
    response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ messageId }))
  } catch (error) {
    console.error(error)
    response.writeHead(500).end()
  }
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`listening at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})

process.once('SIGTERM', async () => {
  await new Promise(resolve => server.close(resolve))
  await visits.stop({ timeout: '10s' })
  await tm.close()
  console.log('stopped')
})
