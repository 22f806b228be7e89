import { decodeCells } from './decode.ts'
import type { Frame, PlaneChoice } from './plane.ts'

export type Wanted = {
  readonly id: number
  readonly url: string
  readonly tick: number
  readonly shape: readonly number[]
  readonly plane: PlaneChoice
}

/** Beside a missing tick: the nearest existing ones. */
export type Nearest = { readonly before: number | null; readonly after: number | null }

export type Loaded =
  | { readonly id: number; readonly frame: Frame; readonly decodeMs: number }
  | { readonly id: number; readonly status: number; readonly detail: string; readonly nearest?: Nearest }

/** The worker's own scope: its type library can't be loaded beside the page's. */
declare const self: {
  onmessage: ((event: MessageEvent<Wanted | number>) => void) | null
  postMessage(loaded: Loaded, transfer: Transferable[]): void
}

const CELLS = 'application/x-protobuf'
const aborts = new Map<number, AbortController>()

/** Fetches and decodes cells outside the page's thread. A number alone cancels the request with that number. */
self.onmessage = async ({ data }: MessageEvent<Wanted | number>): Promise<void> => {
  if (typeof data === 'number') {
    aborts.get(data)?.abort()
    return
  }
  const abort = new AbortController()
  aborts.set(data.id, abort)
  try {
    const answer = await fetch(data.url, { headers: { accept: CELLS }, signal: abort.signal })
    if (!answer.ok) {
      const { detail, nearest } = (await answer.json().catch(() => ({}))) as { detail?: string; nearest?: Nearest }
      post({ id: data.id, status: answer.status, detail: detail ?? answer.statusText, ...(nearest && { nearest }) })
      return
    }
    const bytes = new Uint8Array(await answer.arrayBuffer())
    const begun = performance.now()
    const frame = decodeCells(bytes, data.tick, data.shape, data.plane)
    post({ id: data.id, frame, decodeMs: performance.now() - begun }, [
      frame.type.buffer,
      frame.value.buffer,
      frame.owner.buffer,
    ])
  } catch (error) {
    post({ id: data.id, status: 0, detail: abort.signal.aborted ? 'given up' : String(error) })
  } finally {
    aborts.delete(data.id)
  }
}

const post = (loaded: Loaded, transfer: Transferable[] = []): void => self.postMessage(loaded, transfer)
