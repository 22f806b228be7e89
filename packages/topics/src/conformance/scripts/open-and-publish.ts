/** open-and-publish.ts <url> [<uid to become first>]: prints the result as one JSON line. */
import { open } from '../../index.ts'
import { SILENT } from '../test-database.ts'

const [url = '', uid] = process.argv.slice(2)
// Only after the imports: another user may not be allowed to read this folder.
if (uid !== undefined) {
  process.setgid?.(Number(uid))
  process.setuid?.(Number(uid))
}

try {
  await using tm = await open(url, { logger: SILENT })
  process.send?.('opened')
  await tm.configureTopic('work', { maxMessageBytes: 64 * 1024 * 1024 })
  const { id } = await tm.publish('work', 'x'.repeat(4 * 1024 * 1024), { messageId: `of ${process.pid}` })
  console.log(JSON.stringify({ id }))
} catch (error) {
  const { name, message, code } = error as Error & { code: string }
  console.log(JSON.stringify({ name, message, code }))
}
