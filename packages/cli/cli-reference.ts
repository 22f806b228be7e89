/** Writes docs/cli.md from the tables that the command checks its arguments with: `npm run generate`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { COMMON_OPTIONS, type Command } from './src/command.ts'
import { COMMANDS, GROUPS } from './src/commands.ts'
import { exitLines, optionLines, usageOf } from './src/help.ts'

export const PAGE = fileURLToPath(new URL('../../docs/cli.md', import.meta.url))

/** Changed by hand here; everything below the introduction follows from the tables. */
const INTRODUCTION = `# The command line

<!-- Made by packages/cli/cli-reference.ts (npm run generate). Change the commands' tables, not this page. -->

\`tidemark <command> [arguments] [options]\`. From the repository, without building anything:
\`npm run -s tidemark -- <command> …\`.

- **The database** is \`--database sqlite:<file>\` or \`--database postgres://…\`, or what \`TIDEMARK_DATABASE\` says. A password is
  better there than on the command line, where other users see it; no output and no error shows it.
- A mistyped address makes nothing: only \`migrate\` and \`start\` make a namespace. Nor does a command upgrade one under
  programs that run on it: that is \`migrate\` as well.
- **\`--json\`** gives one JSON document, or one a line where there is a stream (\`tail\`). Errors are then
  \`{"error":{"code","message"}}\` on standard error. Bytes are \`{"base64": …}\`.
- **Tokens** of the server (\`start\`, \`serve\`) come from \`TIDEMARK_READ_TOKEN\` and \`TIDEMARK_ADMIN_TOKEN\`, never from arguments.
- **Colours** are for terminals, and never with \`NO_COLOR\`. Progress is drawn on terminals only.
- **What can't be undone** asks on a terminal, and needs \`--yes\` elsewhere.
- **Ctrl-C** ends everything in good order, a second one at once. \`| head\` is fine.
`

export function referencePage(): string {
  const alone = COMMANDS.filter(({ name }) => !name.includes(' '))
  const groups = GROUPS.map(({ name, summary }) => {
    const members = COMMANDS.filter(each => each.name.startsWith(`${name} `))
    return [`## ${name}`, '', `${capital(summary)}.`, '', ...members.flatMap(member => section(member, '###'))]
  })
  return [
    INTRODUCTION,
    '## Exit codes',
    '',
    ...markdownTable(['code', 'meaning'], exitLines()),
    '',
    '## Options of every command',
    '',
    ...markdownTable(['option', ''], code(optionLines(COMMON_OPTIONS))),
    '',
    ...groups.flat(),
    ...alone.flatMap(command => section(command, '##')),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')
}

function section(command: Command, heading: string): string[] {
  const options = optionLines(command.options)
  return [
    `${heading} ${command.name}`,
    '',
    `${command.summary}.`,
    '',
    '```sh',
    `tidemark ${usageOf(command)} [options]`,
    '',
    ...command.examples.flatMap(({ run, what }) => [`# ${what}`, run]),
    '```',
    '',
    ...(options.length === 0 ? [] : [...markdownTable(['option', ''], code(options)), '']),
  ]
}

const code = (pairs: readonly (readonly [string, string])[]): (readonly [string, string])[] =>
  pairs.map(([name, what]) => [`\`${name}\``, what])

const markdownTable = (headings: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [headings, headings.map(() => '---'), ...rows].map(
    row => `| ${row.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  )

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

if (import.meta.main) writeFileSync(PAGE, referencePage())
