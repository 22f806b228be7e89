import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { AddressInUseError, ROLES, type RunningServer, type ServerOptions, startServer } from '@tidemark/server'
import type { Logger } from 'tidemark'
import type { Surroundings } from '../command.ts'
import { UsageError } from '../errors.ts'
import { type Given, present } from '../given.ts'
import { both, LOG_FORMATS, type LogFormat, logFile, serverLog } from './server-log.ts'

/** Server settings from the command line and the environment; read before anything is opened. */
export type ServerChoice = {
  readonly options: Omit<ServerOptions, 'logger' | 'topics' | 'pipeline' | 'indexes' | 'environmentStrategy' | 'ingest'>
  readonly log: LogFormat
  readonly logFile: string | undefined
}

export function serverChoice(given: Given, { environment }: Surroundings): ServerChoice {
  const hosts = given.texts('allowed-host')
  const proxies = given.texts('trusted-proxy')
  const tokens = tokensOf(environment)
  const tls = tlsOf(given)
  const options = {
    ...present({
      host: given.text('host'),
      port: given.whole('port', { min: 0, max: 65_535 }),
      tokenFile: given.text('token-file'),
      auditFile: given.text('audit-file'),
      tokens,
      tls,
    }),
    ...(given.flag('secure-cookies') && { secureCookies: true }),
    ...(hosts.length > 0 && { allowedHosts: hosts }),
    ...(proxies.length > 0 && { trustedProxies: proxies }),
  }
  return { options, log: given.oneOf('log', LOG_FORMATS) ?? 'pretty', logFile: given.text('log-file') }
}

/** TIDEMARK_ADMIN_TOKEN and similar. An empty variable is a mistake that would leave the server open. */
function tokensOf(environment: NodeJS.ProcessEnv): ServerOptions['tokens'] {
  const given = ROLES.flatMap(role => {
    const name = `TIDEMARK_${role.toUpperCase()}_TOKEN`
    const token = environment[name]
    if (token === '') throw new UsageError(`${name} is empty. Unset it, or set it to a token ('tidemark token create')`)
    return token === undefined ? [] : [[role, token]]
  })
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

function tlsOf(given: Given): ServerOptions['tls'] {
  const [cert, key] = [given.text('tls-cert'), given.text('tls-key')]
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) throw new UsageError('--tls-cert and --tls-key must be given together')
  return { cert, key }
}

/** The server's log: to the given file, or to standard error. */
export function loggerFor({ log, logFile: path }: ServerChoice, { output }: Surroundings): Logger {
  return serverLog(log, path === undefined ? line => output.note(line) : logFile(path))
}

/** A complete log beside the one that a screen shows: in the given file, or in the data folder. */
export function loggerBeside(shown: Logger, choice: ServerChoice, surroundings: Surroundings, folder: string): Logger {
  const path = choice.logFile ?? (isWritable(folder) ? join(folder, 'server.log') : undefined)
  if (path !== undefined) return both(shown, serverLog(choice.log, logFile(path)))
  return surroundings.output.isLive ? shown : both(shown, loggerFor(choice, surroundings))
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A given port must be free; if the default port is taken, another one is used. */
export async function openServer(
  { options: choice }: ServerChoice,
  what: Omit<ServerOptions, keyof ServerChoice['options']>,
  dataFolder: string | undefined,
): Promise<RunningServer> {
  const folder = dataFolder !== undefined && isWritable(dataFolder) ? dataFolder : undefined
  const options = { ...(folder && { auditFile: join(folder, 'audit.jsonl') }), ...choice, ...what }
  try {
    return await startServer(options)
  } catch (error) {
    if (!(error instanceof AddressInUseError) || choice.port !== undefined) throw error
    return await startServer({ ...options, port: 0 })
  }
}
