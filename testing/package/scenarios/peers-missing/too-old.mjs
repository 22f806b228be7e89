import assert from 'node:assert/strict'
import { open } from 'tidemark'

await assert.rejects(() => open('postgres://127.0.0.1:1/none'), {
  code: 'TIDEMARK_PACKAGE_REQUIRED',
  message: /older one is installed.*npm install pg@/,
})
