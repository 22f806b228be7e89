import { CodedError } from 'tidemark'
import type { Command, Surroundings } from './command.ts'
import { COMMANDS, GROUPS } from './commands.ts'
import { didYouMean } from './did-you-mean.ts'
import { UnconfirmedError, UnexpectedError, UsageError } from './errors.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { missingPackage } from './missing-package.ts'
import { parseFor } from './parse.ts'
import { VERSION } from './version.ts'

/** Runs a command line and returns its exit code. `onCommand` is told which command it is, before it begins. */
export async function run(
  words: readonly string[],
  surroundings: Surroundings,
  onCommand: (command: Command) => void = () => undefined,
): Promise<ExitCode> {
  const { output } = surroundings
  try {
    if (words[0] === '--version') {
      output.result({ version: VERSION }, () => [VERSION])
      return EXIT.done
    }
    const found = find(commandFirst(words))
    if (Array.isArray(found)) {
      output.result({ help: found.join('\n') }, () => found)
      return EXIT.done
    }
    const { command, rest } = found
    const given = parseFor(command, rest)
    if (given.flag('help')) {
      const text = commandHelp(command)
      output.result({ help: text.join('\n') }, () => text)
      return EXIT.done
    }
    onCommand(command)
    return await command.run(given, surroundings)
  } catch (error) {
    if (surroundings.interrupted.aborted && isAbort(error)) return EXIT.interrupted
    const told = error instanceof CodedError ? error : (missingPackage(error) ?? new UnexpectedError(error))
    output.complain(told)
    return exitCodeOf(told)
  }
}

/** Whether a command was interrupted. A failure while it ends is reported like any other. */
const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

/** Makes `tidemark --json topics list` equivalent to `tidemark topics list --json`. */
function commandFirst(words: readonly string[]): readonly string[] {
  return words[0] === '--json' ? [...words.slice(1), '--json'] : words
}

type Found = { readonly command: Command; readonly rest: readonly string[] }

/** The command, or the requested help. */
function find(words: readonly string[]): Found | string[] {
  const [first, second, ...rest] = words
  if (first === undefined || ['help', '--help', '-h', '--json'].includes(first)) return overview(COMMANDS, GROUPS)
  // 'runs' is a command, and so is 'runs remove'.
  const whole = COMMANDS.find(({ name }) => name === `${first} ${second}`)
  if (whole) return { command: whole, rest }
  const alone = COMMANDS.find(({ name }) => name === first)
  if (alone) return { command: alone, rest: words.slice(1) }
  const group = GROUPS.find(({ name }) => name === first)
  if (group === undefined) {
    const known = [...GROUPS, ...COMMANDS].map(({ name }) => name).filter(name => !name.includes(' '))
    throw new UsageError(`Unknown command '${first}'.${didYouMean(first, known)} Run 'tidemark --help' for a list`)
  }
  const members = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
  if (second === undefined || second.startsWith('-')) {
    if (words.includes('--help') || words.includes('-h')) return groupHelp(group, members)
    throw new UsageError(`'tidemark ${first}' requires a command: ${verbsOf(members).join(', ')}`)
  }
  const verbs = verbsOf(members)
  throw new UsageError(
    `Unknown command '${first} ${second}'.${didYouMean(second, verbs)} Available: ${verbs.join(', ')}`,
  )
}

const verbsOf = (members: readonly Command[]): string[] => members.map(({ name }) => name.split(' ')[1] ?? '')

/** Codes of other packages that mean a mistake in the command line. */
const USAGE_CODES = ['TIDEMARK_CONFIG', 'TIDEMARK_INVALID_NAME', 'TIDEMARK_UNKNOWN_SERVICE']

function exitCodeOf(error: CodedError): ExitCode {
  if (error instanceof UsageError || USAGE_CODES.includes(error.code)) return EXIT.usage
  if (error instanceof UnconfirmedError) return EXIT.unconfirmed
  return error.code === 'TIDEMARK_CORRUPT_FILE' ? EXIT.found : EXIT.failed
}
