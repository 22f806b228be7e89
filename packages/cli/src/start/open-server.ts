import { AddressInUseError, type RunningServer, type ServerOptions, startServer } from '@tidemark/server'
import type { Surroundings } from '../command.ts'
import { type Given, present } from '../given.ts'

/** What the command line and the environment say of the server; read before anything is opened. */
export type ServerChoice = Pick<ServerOptions, 'host' | 'port' | 'tokens' | 'allowedHosts'>

export function serverChoice(given: Given, { environment }: Surroundings): ServerChoice {
  const hosts = given.texts('allowed-host')
  const tokens = present({
    read: environment.TIDEMARK_READ_TOKEN || undefined,
    admin: environment.TIDEMARK_ADMIN_TOKEN || undefined,
  })
  return {
    ...present({ host: given.text('host'), port: given.whole('port', { min: 0, max: 65_535 }) }),
    ...(Object.keys(tokens).length > 0 && { tokens }),
    ...(hosts.length > 0 && { allowedHosts: hosts }),
  }
}

/** A port that was asked for is that one or an error; the usual one, where it is taken, is another. */
export async function openServer(
  choice: ServerChoice,
  what: Omit<ServerOptions, keyof ServerChoice>,
): Promise<RunningServer> {
  const options = { ...choice, ...what }
  try {
    return await startServer(options)
  } catch (error) {
    if (!(error instanceof AddressInUseError) || choice.port !== undefined) throw error
    return await startServer({ ...options, port: 0 })
  }
}
