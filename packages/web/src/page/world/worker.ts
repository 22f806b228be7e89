import { BodyBuffers } from './body-buffers.ts'
import { decodeCells } from './decode.ts'
import { frameOf, PlaneReader, type PlaneStep } from './frame-stream.ts'
import { FramePacker, type PackedFrame } from './packer.ts'
import type { Frame, PlaneChoice } from './plane.ts'
import type { NearestTicks } from './run-shapes.ts'

/** A whole tick; the three planes of one tick; or the three planes of many, as streams. */
export type Wanted = {
  readonly id: number
  readonly tick: number
  /** Nobody waits for it yet: it is packed after those that were asked for before it. */
  readonly isAhead: boolean
} & (
  | { readonly kind: 'whole'; readonly url: string; readonly shape: readonly number[]; readonly plane: PlaneChoice }
  | { readonly kind: 'tile' | 'stream'; readonly urls: readonly string[] }
)

export type Loaded =
  | { readonly id: number; readonly frame: PackedFrame; readonly decodeMs: number }
  /** Ticks that the server does not have. */
  | { readonly id: number; readonly missingFrom: number; readonly missingTo: number }
  | { readonly id: number; readonly isDone: true }
  | { readonly id: number; readonly status: number; readonly detail: string; readonly nearest?: NearestTicks }

/** The worker's own scope: its type library can't be loaded beside the page's. */
declare const self: {
  onmessage: ((event: MessageEvent<Wanted | number>) => void) | null
  postMessage(loaded: Loaded, transfer: Transferable[]): void
}

const CELLS = 'application/x-protobuf'
const aborts = new Map<number, AbortController>()
const packer = new FramePacker()
const buffers = new BodyBuffers()
/** Ends when the last tick that was asked for ahead has been packed. */
let packedAhead: Promise<unknown> = Promise.resolve()

/** Fetches and decodes cells outside the page's thread. A number alone cancels the request with that number. */
self.onmessage = async ({ data }: MessageEvent<Wanted | number>): Promise<void> => {
  if (typeof data === 'number') {
    aborts.get(data)?.abort()
    return
  }
  const abort = new AbortController()
  aborts.set(data.id, abort)
  try {
    if (data.kind === 'whole') await loadWhole(data, abort.signal)
    else if (data.kind === 'tile') await loadTile(data, abort.signal)
    else await loadStream(data, abort.signal)
  } catch (error) {
    if (error instanceof Refused) post({ id: data.id, detail: error.message, ...error.facts })
    else post({ id: data.id, status: 0, detail: abort.signal.aborted ? 'given up' : String(error) })
    abort.abort()
  } finally {
    aborts.delete(data.id)
  }
}

async function loadWhole(wanted: Wanted & { kind: 'whole' }, signal: AbortSignal): Promise<void> {
  const loading = ask(wanted.url, signal, CELLS).then(answer => buffers.read(answer))
  const { bytes, release } = await inTurn(wanted, loading)
  send(wanted.id, over => decodeCells(bytes, wanted.tick, wanted.shape, wanted.plane, over))
  release()
}

/** What is fetched ahead waits for what was asked for before it; how that ends doesn't matter. */
async function inTurn<T>({ isAhead }: Wanted, loading: Promise<T>): Promise<T> {
  if (!isAhead) return await loading
  const before = packedAhead
  const turn = before.then(() => loading)
  packedAhead = turn.catch(() => undefined)
  return await turn
}

async function loadTile({ id, tick, urls }: Wanted & { kind: 'tile' | 'stream' }, signal: AbortSignal): Promise<void> {
  const answers = await Promise.all(urls.map(url => ask(url, signal)))
  const planes = await Promise.all(answers.map(async answer => new Uint8Array(await answer.arrayBuffer())))
  const [width, height] = sizeOf(answers[0])
  send(id, over => frameOf(tick, width, height, three(planes), over))
}

/** A frame is sent when all of its planes are there. */
async function loadStream({ id, urls }: Wanted & { kind: 'tile' | 'stream' }, signal: AbortSignal): Promise<void> {
  const answers = await Promise.all(urls.map(url => ask(url, signal)))
  const [width, height] = sizeOf(answers[0])
  const waiting = new Map<number, (Uint8Array<ArrayBuffer> | undefined)[]>()
  const take = (step: PlaneStep, plane: number): void => {
    if ('missingTo' in step) {
      if (plane === 0) post({ id, missingFrom: step.tick, missingTo: step.missingTo })
      return
    }
    const planes = waiting.get(step.tick) ?? []
    planes[plane] = step.pixels
    if (urls.every((_, each) => planes[each] !== undefined)) {
      waiting.delete(step.tick)
      send(id, over => frameOf(step.tick, width, height, three(planes), over))
    } else waiting.set(step.tick, planes)
  }
  await Promise.all(
    answers.map(async (answer, plane) => {
      const reader = new PlaneReader()
      const body = answer.body?.getReader()
      for (let part = await body?.read(); part !== undefined && !part.done; part = await body?.read()) {
        for (const step of reader.read(part.value)) take(step, plane)
      }
    }),
  )
  post({ id, isDone: true })
}

class Refused extends Error {
  readonly facts: { readonly status: number; readonly nearest?: NearestTicks }

  constructor(detail: string, facts: { readonly status: number; readonly nearest?: NearestTicks }) {
    super(detail)
    this.facts = facts
  }
}

async function ask(url: string, signal: AbortSignal, accept = '*/*'): Promise<Response> {
  const answer = await fetch(url, { headers: { accept }, signal })
  if (answer.ok) return answer
  const { detail, nearest } = (await answer.json().catch(() => ({}))) as { detail?: string; nearest?: NearestTicks }
  throw new Refused(detail ?? answer.statusText, { status: answer.status, ...(nearest && { nearest }) })
}

const sizeOf = (answer: Response | undefined): readonly [number, number] => {
  const [width = 0, height = 0] = (answer?.headers.get('tidemark-size') ?? '').split(',').map(Number)
  return [width, height]
}

type Pixels = Uint8Array<ArrayBuffer>
const three = (planes: readonly (Pixels | undefined)[]): readonly [Pixels, Pixels, Pixels] => {
  const [type, value, owner] = planes
  if (type === undefined || value === undefined || owner === undefined) throw new Error('A plane of a tick is missing')
  return [type, value, owner]
}

function send(id: number, decode: (over: Frame | undefined) => Frame): void {
  const begun = performance.now()
  const frame = packer.pack(decode)
  post({ id, frame, decodeMs: performance.now() - begun }, [frame.changes.buffer])
}

const post = (loaded: Loaded, transfer: Transferable[] = []): void => self.postMessage(loaded, transfer)
