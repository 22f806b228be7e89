import { type Logger, open, schemaVersions, type Tidemark } from 'tidemark'
import type { CommandOptionTable, Surroundings } from './command.ts'
import { NamespaceError, UsageError } from './errors.ts'
import type { Given } from './given.ts'

export const DATABASE: CommandOptionTable = {
  database: {
    value: '<address>',
    help: 'database URL: sqlite:<file>, postgres://… or nats://… (default: $TIDEMARK_DATABASE)',
  },
  namespace: { value: '<name>', help: "namespace of the topics (default 'default')" },
}

export type DatabaseChoice = { readonly url: string; readonly namespace: string }

export function databaseOf(given: Given, { environment }: Surroundings): DatabaseChoice {
  const url = given.text('database') ?? environment.TIDEMARK_DATABASE
  if (url === undefined || url === '') {
    throw new UsageError(
      'No database given. Use --database sqlite:<file>, postgres://… or nats://…, or set TIDEMARK_DATABASE',
    )
  }
  return { url, namespace: given.text('namespace') ?? 'default' }
}

/** A mistyped address must not create a namespace, and a command must not upgrade one under running programs. */
export async function requireNamespace({ url, namespace }: DatabaseChoice): Promise<void> {
  const { location, found, newest } = await schemaVersions(url, { namespace })
  if (found === 0) {
    throw new NamespaceError(
      `Namespace '${namespace}' does not exist at ${location}. Correct the address, or create it with 'tidemark migrate'`,
    )
  }
  if (found < newest) {
    throw new NamespaceError(
      `Namespace '${namespace}' at ${location} has schema version ${found}; this command requires ${newest}. ` +
        `Upgrade it with 'tidemark migrate'; programs with an older Tidemark can't open it afterwards`,
    )
  }
}

/** Warnings and errors, for people. */
export function loggerOf({ output }: Surroundings): Logger {
  const note = (_: object, message: string): void => output.note(message)
  return { debug() {}, info() {}, warn: note, error: note }
}

/** For commands that do one thing with the topics and exit. */
export async function withTopics<T>(
  given: Given,
  surroundings: Surroundings,
  work: (tm: Tidemark) => Promise<T>,
): Promise<T> {
  const { url, namespace } = databaseOf(given, surroundings)
  await requireNamespace({ url, namespace })
  const logger = loggerOf(surroundings)
  await using tm = await open(url, { namespace, autoCreate: false, maintenance: false, logger })
  return await work(tm)
}
