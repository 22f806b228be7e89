/**
 * `node --import ./build/stripped-sources.mjs`: loads the sources from copies without types.
 *
 * Node strips types with a WebAssembly module that every process and every thread loads for itself and never frees: 10 to 15 MB each,
 * and most of the time of a start. The copies are made by a process that ends, and are kept by the hash of the source, so that only
 * what was edited is stripped again. Types become blanks: lines and columns in stack traces are those of the source.
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..')
const COPIES = join(ROOT, 'node_modules', '.cache', 'tidemark', `stripped-${process.version}`)
const SOURCES = `${pathToFileURL(join(ROOT, 'packages'))}/`
const HERE = fileURLToPath(import.meta.url)

if (process.argv[1] === HERE) makeCopies()
else registerHooks({ load })

let areMade = false

function load(url, context, nextLoad) {
  const copy = url.startsWith(SOURCES) && url.endsWith('.ts') ? copyOf(new URL(url)) : undefined
  return copy === undefined ? nextLoad(url, context) : { format: 'module', source: copy, shortCircuit: true }
}

/** Undefined: there is none. Node then strips the source itself, and reports what is wrong with it. */
function copyOf(file) {
  const copy = placeOf(readFileSync(file, 'utf8'))
  if (!existsSync(copy) && !areMade) {
    areMade = true
    spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', HERE], {
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: 'ignore',
    })
  }
  return existsSync(copy) ? readFileSync(copy, 'utf8') : undefined
}

function makeCopies() {
  mkdirSync(COPIES, { recursive: true })
  for (const file of globSync('packages/*/src/**/*.ts', {
    cwd: ROOT,
    exclude: path => path.endsWith('/web/src/page'),
  })) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    const copy = placeOf(source)
    if (!existsSync(copy)) keep(copy, source)
  }
}

/** Others may read at any time: a copy is there as a whole, or not at all. */
function keep(copy, source) {
  try {
    const unfinished = `${copy}.${randomUUID()}`
    writeFileSync(unfinished, stripTypeScriptTypes(source))
    renameSync(unfinished, copy)
  } catch {
    // Not strippable, or no room for a copy: Node says so when it loads the source.
  }
}

function placeOf(source) {
  return join(COPIES, `${createHash('sha256').update(source).digest('hex')}.js`)
}
