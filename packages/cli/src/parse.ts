import { parseArgs } from 'node:util'
import { COMMON_OPTIONS, type Command, type CommandOptionTable } from './command.ts'
import { didYouMean } from './did-you-mean.ts'
import { UsageError } from './errors.ts'
import { Given } from './given.ts'

/** The words after the command's name, checked against its tables. */
export function parseFor(command: Command, words: readonly string[]): Given {
  const table = { ...command.options, ...COMMON_OPTIONS }
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      Object.entries(table).map(([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }]),
    ),
    // Strict mode has its own error messages; options are checked below, with ours.
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const positionals: string[] = []
  const options: Record<string, string[] | true> = {}
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind === 'option') read(token.rawName, token.name, token.value, table, options)
  }
  return new Given(options.help === true ? {} : named(command, positionals), options)
}

function read(
  raw: string,
  name: string,
  value: string | undefined,
  table: CommandOptionTable,
  options: Record<string, string[] | true>,
): void {
  const rule = Object.hasOwn(table, name) && raw.startsWith('--') ? table[name] : undefined
  if (rule === undefined) {
    const known = Object.keys(table).map(each => `--${each}`)
    throw new UsageError(`Unknown option ${raw}.${didYouMean(raw, known)}`)
  }
  if (rule.value === undefined) {
    if (value !== undefined) throw new UsageError(`${raw} takes no value`)
    options[name] = true
    return
  }
  if (value === undefined || value === '') throw new UsageError(`${raw} requires a value: ${raw} ${rule.value}`)
  const before = options[name]
  options[name] = rule.many && Array.isArray(before) ? [...before, value] : [value]
}

function named(command: Command, positionals: readonly string[]): Record<string, readonly string[]> {
  const rest = [...positionals]
  const found: Record<string, readonly string[]> = {}
  for (const { name, optional, many } of command.arguments) {
    const taken = many ? rest.splice(0) : rest.splice(0, 1)
    if (taken.length === 0 && !optional) throw new UsageError(`'tidemark ${command.name}' requires <${name}>`)
    found[name] = taken
  }
  if (rest[0] !== undefined) throw new UsageError(`Unexpected argument '${rest[0]}' for 'tidemark ${command.name}'`)
  return found
}
