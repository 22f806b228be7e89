import assert from 'node:assert/strict'
import { open } from 'tidemark'

const code = 'TIDEMARK_PACKAGE_REQUIRED'
await assert.rejects(() => open('postgres://127.0.0.1:1/none'), { code, package: 'pg', message: /npm install pg@/ })
const registry = { getMessage: () => undefined }
await assert.rejects(() => open('sqlite:./app.db', { registry }), { code, message: /npm install @bufbuild\/protobuf@/ })

const tm = await open('sqlite:./app.db')
await tm.publish('orders', { orderId: 7 })
await tm.close()
