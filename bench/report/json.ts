import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export function writeJson(file: string, content: object): void {
  const path = resolve(file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify({ at: new Date().toISOString(), ...content }, null, 2)}\n`)
}
