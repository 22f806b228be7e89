import type { Frame } from './plane.ts'

type Asked = {
  readonly runId: string
  readonly tick: number
  /** Corner to corner, inclusive, as the API writes it. */
  readonly region?: string | undefined
  /** Whether the region may cross the edges of a torus. */
  readonly wrap?: boolean
  readonly width: number
  readonly height: number
}

/**
 * A tick, or a part of it, with a maximum number of pixels: each shows the most significant of its cells. `owner` may
 * be lineages.
 */
export async function loadTile(asked: Asked, owner: 'owner' | 'lineage', signal?: AbortSignal): Promise<Frame> {
  const [type, value, owners] = await Promise.all([
    plane(asked, 'type', signal),
    plane(asked, 'value', signal),
    plane(asked, owner, signal),
  ])
  return {
    tick: asked.tick,
    width: type.width,
    height: type.height,
    type: new Uint8Array(type.bytes),
    value: new Int32Array(value.bytes),
    owner: new Int32Array(owners.bytes),
  }
}

type Plane = { readonly width: number; readonly height: number; readonly bytes: ArrayBuffer }

async function plane(
  { runId, tick, region, wrap, width, height }: Asked,
  name: string,
  signal?: AbortSignal,
): Promise<Plane> {
  const query = new URLSearchParams({
    plane: name,
    size: `${width},${height}`,
    ...(region !== undefined && { region }),
    ...(wrap && { wrap: 'true' }),
  })
  const url = `/api/v1/runs/${encodeURIComponent(runId)}/environment/${tick}/tile?${query}`
  const answer = await fetch(url, signal ? { signal } : {})
  if (!answer.ok) throw new TileError(answer.status)
  const [wide = 0, high = 0] = (answer.headers.get('tidemark-size') ?? '').split(',').map(Number)
  return { width: wide, height: high, bytes: await answer.arrayBuffer() }
}

class TileError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`The server answered ${status} to a part of the world`)
    this.name = 'TileError'
    this.status = status
  }
}
