import { type Logger, open, schemaVersions, type Tidemark } from 'tidemark'
import type { OptionTable, Surroundings } from './command.ts'
import { NamespaceError, UsageError } from './errors.ts'
import type { Given } from './given.ts'

export const DATABASE: OptionTable = {
  database: { value: '<address>', help: 'sqlite:<file> or postgres://…; else TIDEMARK_DATABASE says it' },
  namespace: { value: '<name>', help: "the set of topics; 'default' if not said" },
}

export type DatabaseChoice = { readonly url: string; readonly namespace: string }

export function databaseOf(given: Given, { environment }: Surroundings): DatabaseChoice {
  const url = given.text('database') ?? environment.TIDEMARK_DATABASE
  if (url === undefined || url === '') {
    throw new UsageError('Which database? Give --database sqlite:<file> or postgres://…, or set TIDEMARK_DATABASE')
  }
  return { url, namespace: given.text('namespace') ?? 'default' }
}

/** A mistyped address must not make a namespace, nor a command upgrade one under programs that run on it. */
export async function requireNamespace({ url, namespace }: DatabaseChoice): Promise<void> {
  const { location, found, newest } = await schemaVersions(url, { namespace })
  if (found === 0) {
    throw new NamespaceError(
      `There is no namespace '${namespace}' at ${location}. Correct the address, or make it with 'tidemark migrate'`,
    )
  }
  if (found < newest) {
    throw new NamespaceError(
      `Namespace '${namespace}' at ${location} has schema ${found}, and this command needs ${newest}. ` +
        `Bring it up to date with 'tidemark migrate'; programs of an older Tidemark can't open it then`,
    )
  }
}

/** Warnings and errors, for people. */
export function loggerOf({ output }: Surroundings): Logger {
  const note = (_: object, message: string): void => output.note(message)
  return { debug() {}, info() {}, warn: note, error: note }
}

/** For commands that do one thing with the topics and end. */
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
