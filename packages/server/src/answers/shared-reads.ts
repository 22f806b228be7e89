import type { FastifyRequest } from 'fastify'

/** Longer ages are taken for this one. */
const OLDEST_MS = 10_000
/** Reads that are kept at once. Of more, the earliest are forgotten. */
const MOST = 200

type Read = { readonly begunAt: number; readonly result: Promise<unknown> }

/**
 * One read for all who ask for the same and accept an answer of some age (`Cache-Control: max-age=1`), as the page does
 * when it looks again: however many look at a screen, it costs the database the same. Whoever sends no age gets a read of
 * their own.
 */
export class SharedReads {
  /** By the address that was requested, the earliest first. The guard has checked before that its reader may read it. */
  readonly #reads = new Map<string, Read>()

  async read<T>(request: FastifyRequest, read: () => Promise<T>): Promise<T> {
    const maxAgeMs = maxAgeOf(request)
    if (maxAgeMs === 0) return await read()
    const key = request.url
    const known = this.#reads.get(key)
    // An address has one route, and so one kind of result.
    if (known !== undefined && performance.now() - known.begunAt <= maxAgeMs) return (await known.result) as T
    const result = read()
    this.#keep(key, result)
    return await result
  }

  /** An operator has changed something, and looks at it next. */
  forget(): void {
    this.#reads.clear()
  }

  #keep(key: string, result: Promise<unknown>): void {
    const mine: Read = { begunAt: performance.now(), result }
    const drop = (): void => {
      if (this.#reads.get(key) === mine) this.#reads.delete(key)
    }
    this.#reads.delete(key)
    this.#reads.set(key, mine)
    const [earliest] = this.#reads.keys()
    if (this.#reads.size > MOST && earliest !== undefined) this.#reads.delete(earliest)
    setTimeout(drop, OLDEST_MS).unref()
    // Its reader is told of the error; the next one tries again.
    result.catch(drop)
  }
}

/** 0: it must be read now. */
function maxAgeOf({ headers }: FastifyRequest): number {
  const seconds = Number(/^max-age=(\d{1,9})$/.exec(headers['cache-control'] ?? '')?.[1] ?? 0)
  return Math.min(OLDEST_MS, seconds * 1_000)
}
