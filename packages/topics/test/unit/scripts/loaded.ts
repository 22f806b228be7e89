/** loaded.ts <url>: publishes and consumes there, and prints as JSON which packages and built-in modules were loaded. */
import { registerHooks } from 'node:module'

const loaded = new Set<string>()
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
    if (name !== undefined || url.startsWith('node:')) loaded.add(name ?? url)
    return next(url, context)
  },
})

const { open } = await import('tidemark')
const [url = ''] = process.argv.slice(2)
const tm = await open(url)
await tm.publish('orders', { orderId: 7 })
const reader = tm.reader('orders')
const delivery = await reader.poll(20_000)
if (delivery === null) throw new Error('nothing came')
await reader.ack(delivery)
await tm.close()
// A built-in module can also be loaded by another one, which no hook sees.
const { moduleLoadList } = process as typeof process & { readonly moduleLoadList: readonly string[] }
if (moduleLoadList.some(name => /\bsqlite$/.test(name))) loaded.add('node:sqlite')
console.log(JSON.stringify([...loaded]))
