import type { Contender, Storage } from '../contender.ts'
import { importPeer } from '../installed.ts'

export type Redis = {
  pipeline(commands: readonly (readonly (string | number)[])[]): { exec(): Promise<unknown> }
  call(command: string, ...values: (string | number)[]): Promise<unknown>
  disconnect(): void
}

export async function connectRedis(port: string): Promise<{ readonly redis: Redis; readonly version: string }> {
  const { module, version } = await importPeer<{ Redis: new (options: object) => Redis }>('ioredis')
  return { redis: new module.Redis({ port: Number(port), protocol: 2 }), version }
}

/** Its data is what it takes in memory; its append-only file is its write-ahead log. */
export async function openRedisBooks(port: string): Promise<AsyncDisposable & Pick<Contender, 'storage'>> {
  const { redis } = await connectRedis(port)
  return {
    async storage(): Promise<Storage> {
      const text = String(await redis.call('INFO', 'everything'))
      const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
      return { written: read('aof_current_size'), stored: read('used_memory'), dead: null }
    },
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}
