/**
 * Compiles src/ (`tidemark`) and all/ (the packages on top of it) with several compilers and settings. What must not compile
 * is marked with @ts-expect-error.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The lowest compilers: 5.5 for `tidemark`, and 5.7 for the packages that use protobuf. */
const COMPILERS = [
  { name: 'typescript-5.5', include: ['src'] },
  { name: 'typescript-5.7', include: ['src', 'all'] },
  { name: 'typescript-5.9', include: ['src', 'all'] },
  { name: 'typescript-6', include: ['src', 'all'] },
  { name: 'typescript', include: ['src', 'all'] },
]
const SETTINGS = [
  { module: 'nodenext', moduleResolution: 'nodenext', exactOptionalPropertyTypes: true },
  { module: 'nodenext', moduleResolution: 'nodenext', exactOptionalPropertyTypes: false },
  { module: 'esnext', moduleResolution: 'bundler', exactOptionalPropertyTypes: true },
  { module: 'esnext', moduleResolution: 'bundler', exactOptionalPropertyTypes: false },
]
const STRICT = {
  strict: true,
  skipLibCheck: false,
  noEmit: true,
  allowImportingTsExtensions: true,
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
}

let failures = 0
for (const { name, include } of COMPILERS) {
  const { bin, version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'))
  for (const setting of SETTINGS) {
    writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions: { ...STRICT, ...setting }, include }))
    const tsc = `node_modules/${name}/${bin.tsc}`
    const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '--project', '.'], { encoding: 'utf8' })
    const { moduleResolution, exactOptionalPropertyTypes: exact } = setting
    const where = `TypeScript ${version}, ${moduleResolution}, exactOptionalPropertyTypes ${exact}`
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${where}\n${stdout}${stderr}`.trim())
    if (status !== 0) failures++
  }
}
rmSync('tsconfig.json')
process.exitCode = failures === 0 ? 0 : 1
