import { COMMON_OPTIONS, type Command, type CommandOptionTable } from './command.ts'
import { EXIT, EXIT_MEANINGS } from './exit-codes.ts'

export type CommandGroup = { readonly name: string; readonly summary: string }

/** `tidemark --help`: one line per command. */
export function overview(commands: readonly Command[], groups: readonly CommandGroup[]): string[] {
  return [
    'tidemark: durable topics, and the pipeline built on them.',
    '',
    'tidemark <command> [arguments] [options]',
    '',
    ...listed(topLevel(commands, groups)),
    '',
    'Options of every command:',
    ...listed(optionLines(COMMON_OPTIONS)),
    '',
    'Exit codes:',
    ...listed(exitLines()),
    '',
    "Run 'tidemark <command> --help' for details and examples, and 'tidemark --version' for the version. Colours are used on terminals only; NO_COLOR turns them off.",
  ]
}

/** `tidemark topics --help`: the commands of one group. */
export function groupHelp(group: CommandGroup, commands: readonly Command[]): string[] {
  return [
    `tidemark ${group.name}: ${group.summary}`,
    '',
    ...listed(commands.map(command => [usageOf(command), command.summary] as const)),
    '',
    `'tidemark ${commands[0]?.name ?? group.name} --help' shows details and examples.`,
  ]
}

export function commandHelp(command: Command): string[] {
  return [
    `${command.summary}.`,
    '',
    `tidemark ${usageOf(command)} [options]`,
    '',
    ...listed(optionLines({ ...command.options, ...COMMON_OPTIONS })),
    '',
    ...command.examples.flatMap(({ run, what }) => [`  ${run}`, `      ${what}`]),
    '',
    `Exit codes: ${exitLines()
      .map(([code, meaning]) => `${code} ${meaning.split(':')[0]?.split(' (')[0] ?? ''}`)
      .join(', ')}`,
  ]
}

export const usageOf = ({ name, arguments: rules }: Command): string =>
  [
    name,
    ...rules.map(({ name: argument, optional, many }) => {
      const shown = `<${argument}>${many ? '…' : ''}`
      return optional ? `[${shown}]` : shown
    }),
  ].join(' ')

export const optionLines = (table: CommandOptionTable): (readonly [string, string])[] =>
  Object.entries(table).map(([name, { value, help, many }]) => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    many ? `${help} (repeatable)` : help,
  ])

export const exitLines = (): (readonly [string, string])[] =>
  (Object.keys(EXIT) as (keyof typeof EXIT)[]).map(name => [String(EXIT[name]), EXIT_MEANINGS[name]])

/** One line per group, and one per command outside of groups. */
function topLevel(commands: readonly Command[], groups: readonly CommandGroup[]): (readonly [string, string])[] {
  const isMember = (name: string): boolean => groups.some(group => name.startsWith(`${group.name} `))
  const alone = commands.filter(({ name }) => !isMember(name))
  return [...groups, ...alone].map(({ name, summary }) => [name, summary] as const)
}

function listed(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`)
}
