import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { entriesOf } from '../../build/entries.ts'
import { SHARED_IN_CLI } from '../../build/shared-in-cli.ts'
import { type Files, writeJavaScript } from '../../build/write-javascript.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Our packages as they are published, in `node_modules` of a folder outside of this repository. */
export async function installTidemark(folder: string): Promise<void> {
  await install(folder, 'topics')
}

export async function installPipeline(folder: string): Promise<void> {
  await install(folder, 'pipeline')
}

/** Without the packages that it loads only for some commands. */
export async function installCli(folder: string): Promise<string> {
  await install(folder, 'cli', { main: 'src/main.ts' }, SHARED_IN_CLI)
  return join(folder, 'node_modules/@tidemark/cli/dist/main.js')
}

/** The libraries of others as they are in this repository, with all that they need. */
export function installOther(folder: string, name: string): void {
  const target = join(folder, 'node_modules', name)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), target)
}

/** A package that claims to be `name`. */
export function installFake(folder: string, name: string, code: string): void {
  const target = join(folder, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, 'package.json'), JSON.stringify({ name, version: '0.0.0', main: 'index.js' }))
  writeFileSync(join(target, 'index.js'), code)
}

async function install(folder: string, source: string, programs: Files = {}, shared?: RegExp): Promise<void> {
  const from = join(ROOT, 'packages', source)
  const { name }: { readonly name: string } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const target = join(folder, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  cpSync(join(from, 'package.json'), join(target, 'package.json'))
  await writeJavaScript({ ...entriesOf(from), ...programs }, from, join(target, 'dist'), shared)
}
