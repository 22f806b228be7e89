/** The server in a process of its own, with routes beside its own that answer with a file and nothing else. */
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createApp } from '../../../packages/server/src/app.ts'
import { Context } from '../../../packages/server/src/context.ts'
import { checkServerOptions } from '../../../packages/server/src/options.ts'

const [indexes = '', folder = ''] = process.argv.slice(2)
const app = await createApp(new Context(checkServerOptions({ port: 0, indexes })))
app.get<{ Params: { name: string } }>('/plain/:name', async ({ params: { name } }, reply) => {
  return reply.header('content-type', 'application/x-protobuf').send(await readFile(join(folder, name)))
})
await app.listen({ host: '127.0.0.1', port: 0 })
console.log(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
