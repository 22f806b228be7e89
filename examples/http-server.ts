import { startServer } from '@tidemark/server'
import { open } from 'tidemark'

await using tm = await open(process.env.DATABASE ?? 'sqlite:./data/app.db')
await using server = await startServer({ topics: tm, port: Number(process.env.PORT ?? 4680) })
console.log(`Tidemark at ${server.url}`)
await new Promise(resolve => process.once('SIGTERM', resolve)) // then the server closes, and the topics after it
