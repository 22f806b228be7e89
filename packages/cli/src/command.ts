import type { ExitCode } from './exit-codes.ts'
import type { Given } from './given.ts'
import type { Output } from './output/output.ts'

type OptionRule = {
  /** Placeholder for its value in the help; an option without one is a flag. */
  readonly value?: string
  readonly help: string
  /** May be given more than once. */
  readonly many?: true
}
export type CommandOptionTable = { readonly [name: string]: OptionRule }

type ArgumentRule = { readonly name: string; readonly optional?: true; readonly many?: true }

export type Example = { readonly run: string; readonly what: string }

export type Surroundings = {
  readonly output: Output
  readonly environment: NodeJS.ProcessEnv
  /** Aborted by Ctrl-C, by a signal, or when nobody reads the output any more. */
  readonly interrupted: AbortSignal
}

/** One command, as `tidemark <name> …` runs it. Help, docs/reference/cli.md and the check of the arguments come from this table. */
export type Command = {
  /** With its group: 'topics list'. */
  readonly name: string
  readonly summary: string
  readonly arguments: readonly ArgumentRule[]
  readonly options: CommandOptionTable
  readonly examples: readonly [Example, ...Example[]]
  /** It handles `interrupted` itself, and shuts down cleanly. */
  readonly endsItself?: true
  /** It continues its work when nobody reads its output any more. */
  readonly outlivesReader?: true
  /** Reads and validates its input before anything is opened. */
  run(given: Given, surroundings: Surroundings): Promise<ExitCode>
}

/** Options of every command. */
export const COMMON_OPTIONS: CommandOptionTable = {
  json: { help: 'print one JSON document instead of text; streams print one per line' },
  help: { help: 'show the help of the command' },
}

export const YES: CommandOptionTable = { yes: { help: 'skip the confirmation' } }
