import { open, type Tidemark } from 'tidemark'

// In development Next loads this module again after every change: keep one open Tidemark, not one for every version.
const kept = globalThis as { tidemark?: Promise<Tidemark> }

/** The open Tidemark of this server. It is opened at the first request, not while `next build` runs. */
export function tidemark(): Promise<Tidemark> {
  kept.tidemark ??= open(process.env.DATABASE ?? 'sqlite:./data/app.db')
  return kept.tidemark
}
