import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Server } from 'node:https'
import { createSecureContext } from 'node:tls'
import { ConfigError, type Logger } from 'tidemark'

/** Files of a TLS certificate. They are read again when they change. */
export type TlsFiles = {
  /** Path of the certificate in PEM. */
  readonly cert: string
  /** Path of its private key in PEM. */
  readonly key: string
}

const LOOK_MS = 2_000

export type TlsKeys = { readonly cert: Buffer; readonly key: Buffer; readonly minVersion: 'TLSv1.2' }

/** Throws a ConfigError if they can't be read, or don't belong together. */
export function readTls({ cert, key }: TlsFiles): TlsKeys {
  const keys = { cert: read('server.tls.cert', cert), key: read('server.tls.key', key), minVersion: 'TLSv1.2' } as const
  try {
    createSecureContext(keys)
  } catch (error) {
    const why = `a certificate and its key in PEM (${(error as Error).message})`
    throw new ConfigError('server.tls', `${cert}, ${key}`, why)
  }
  return keys
}

/**
 * Certificates are renewed every few weeks: new connections use the new one. `seen`: the stamp of the files before they
 * were read, so that a change while the server starts is not missed.
 */
export function watchTls(server: Server, files: TlsFiles, seen: string, logger: Logger): () => void {
  const look = async (): Promise<void> => {
    const mark = await markOf(files)
    if (mark === seen) return
    seen = mark
    try {
      server.setSecureContext(readTls(files))
      logger.info({ cert: files.cert }, 'the certificate was read again')
    } catch (error) {
      logger.error({ err: error }, 'the new certificate cannot be used: the old one stays')
    }
  }
  const timer = setInterval(() => void look(), LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Changes with every write and every replacement. */
export const markOf = async ({ cert, key }: TlsFiles): Promise<string> =>
  (await Promise.all([cert, key].map(markOfFile))).join(', ')

const markOfFile = async (path: string): Promise<string> =>
  await stat(path, { bigint: true }).then(
    ({ ino, size, mtimeNs, ctimeNs }) => `${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    (error: NodeJS.ErrnoException) => String(error.code),
  )

function read(option: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ConfigError(option, path, `a file that can be read (${(error as Error).message})`)
  }
}
