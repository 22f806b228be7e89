/** Opens and writes to an index in a process of its own, as another user where one is given, and says how that went. */
import { openIndex } from '@tidemark/pipeline'

const [address = '', runId = '', user] = process.argv.slice(2)
if (user !== undefined) process.setuid?.(Number(user))
try {
  const database = await openIndex(address, runId)
  await database.idempotency.markProcessed('open-index', String(process.pid))
  await database.close()
  console.log(JSON.stringify({ opened: true }))
} catch (error) {
  const { name, code, message } = error as Error & { code?: string }
  console.log(JSON.stringify({ name, code, message }))
}
process.disconnect?.()
